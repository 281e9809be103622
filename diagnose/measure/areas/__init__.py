"""What can be measured, an area a file: the selectors and metrics of the loader, of copies, of kernels …"""
