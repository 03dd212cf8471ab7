"""Folders of images that are decoded while they are used."""
