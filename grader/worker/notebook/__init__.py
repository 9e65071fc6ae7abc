"""Running the cells of notebooks one by one, beside a small `get_ipython()`."""
