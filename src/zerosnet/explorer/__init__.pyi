from zerosnet.explorer.server import serve as serve
