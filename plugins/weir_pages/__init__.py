"""The pages of the Data-quality tab: answered from the files below reports/, for those who may read the DAG
of that name.
"""
