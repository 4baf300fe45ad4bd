"""The commands of `launch.py`: a module for each noun; `main` lists them."""
