"""Certificates: from the votes of a smoothed classifier to what it provably keeps."""
