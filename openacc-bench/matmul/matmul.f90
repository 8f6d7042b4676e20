!> C(i,j) += A(i,k) * B(k,j) for square matrices, from C = 0; k is sequential.
program matmul_benchmark
    use driver
    implicit none
    type(options_type) :: options
    real, allocatable :: a(:, :), b(:, :), c(:, :), expected(:, :)
    real(8), allocatable :: spent(:)
    real(8) :: error
    integer :: n

    options = read_options(200, 200, 32768, 32768)
    n = options%nx
    options%ny = n
    allocate (a(n, n), b(n, n), c(n, n), spent(options%runs))
    call initialise(a, 0)
    call initialise(b, 1)
    call initialise(c, 2)

    !$acc enter data copyin(a, b, c)
    call run(a, b, c, options%nx)
    error = 0
    if (options%check) then
        !$acc update self(c)
        expected = real(matmul(real(a, 8), real(b, 8)))
        error = difference(c, expected)
    end if
    do n = 1, options%runs
        spent(n) = seconds()
        call run(a, b, c, options%nx)
        spent(n) = seconds() - spent(n)
    end do
    !$acc exit data delete(a, b, c)
    call finish("matmul", options, spent, error)

contains

    subroutine run(a, b, c, n)
        integer, intent(in) :: n
        real, intent(in) :: a(n, n), b(n, n)
        real, intent(inout) :: c(n, n)
        real :: total
        integer :: i, j, k

        !$acc parallel loop gang vector_length(128) present(a, b, c)
        do j = 1, n
            !$acc loop vector private(total)
            do i = 1, n
                total = 0
                !$acc loop seq
                do k = 1, n
                    total = total + a(i, k) * b(k, j)
                end do
                c(i, j) = total
            end do
        end do
    end subroutine

end program
