"""What a person sees and controls while networks train."""
