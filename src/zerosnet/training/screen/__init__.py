"""Progress, loggers and signals: what a person sees and controls while networks train."""
