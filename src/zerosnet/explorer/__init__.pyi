from zerosnet.explorer.export import export_page as export_page
from zerosnet.explorer.server import serve as serve
