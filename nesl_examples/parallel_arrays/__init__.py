"""Programs with parallel arrays: Python functions over nessie.array, which are compiled together.

    bfs             levels of a graph, by flatten and unique, and by flags
    products        a matrix product by nested maps, dot products
    mandelbrot      the Mandelbrot set
    himeno          Jacobi iterations of the Himeno benchmark
    kmeans          clusters of points
    pagerank        ranks of pages, whose links are rows of any lengths

Each prints something if it is run: cd nesl_examples; python -m parallel_arrays.bfs
"""
