"""Files that the workers of a cluster read and write.

    arrays      arrays that lie in files
    hands       tasks, by those workers that see the files that they read
"""
