!> sin(x) + cos(y).
program sincos
    use driver
    implicit none
    type(options_type) :: options
    real, allocatable :: x(:, :), y(:, :), xy(:, :), expected(:, :)
    real(8), allocatable :: spent(:)
    real(8) :: error
    integer :: n

    options = read_options(500, 300, 32768, 32768)
    allocate (x(options%nx, options%ny), y(options%nx, options%ny), xy(options%nx, options%ny))
    allocate (spent(options%runs))
    call initialise(x, 0)
    call initialise(y, 1)
    call initialise(xy, 2)

    !$acc enter data copyin(x, y, xy)
    call run(x, y, xy, options%nx, options%ny)
    error = 0
    if (options%check) then
        !$acc update self(xy)
        expected = real(sin(real(x, 8)) + cos(real(y, 8)))
        error = difference(xy, expected)
    end if
    do n = 1, options%runs
        spent(n) = seconds()
        call run(x, y, xy, options%nx, options%ny)
        spent(n) = seconds() - spent(n)
    end do
    !$acc exit data delete(x, y, xy)
    call finish("sincos", options, spent, error)

contains

    subroutine run(x, y, xy, nx, ny)
        integer, intent(in) :: nx, ny
        real, intent(in) :: x(nx, ny), y(nx, ny)
        real, intent(inout) :: xy(nx, ny)
        integer :: i, j

        !$acc parallel loop gang vector_length(128) present(x, y, xy)
        do j = 1, ny
            !$acc loop vector
            do i = 1, nx
                xy(i, j) = sin(x(i, j)) + cos(y(i, j))
            end do
        end do
    end subroutine

end program
