"""Reports: results as people read them: tables and lines in a terminal, pictures as text or SVG."""
