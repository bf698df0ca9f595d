module ucp.example/purchase

go 1.27

require ucp.example/client v0.0.0

replace ucp.example/client => ./client
