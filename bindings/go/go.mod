module tinkc.example/hello

go 1.21
