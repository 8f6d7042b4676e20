!> 3 x 3 stencil: c0 for the centre, c1 for the edges, c2 for the corners.
program jacobi
    use driver
    implicit none
    real, parameter :: c0 = 0.5, c1 = 0.1, c2 = 0.025
    type(options_type) :: options
    real, allocatable :: w0(:, :), w1(:, :), expected(:, :)
    real(8), allocatable :: spent(:)
    real(8) :: error
    integer :: n

    options = read_options(500, 300, 32768, 32768)
    allocate (w0(options%nx, options%ny), w1(options%nx, options%ny), spent(options%runs))
    call initialise(w0, 0)
    call initialise(w1, 1)
    if (options%check) expected = w1

    !$acc enter data copyin(w0, w1)
    call run(w0, w1, options%nx, options%ny)
    error = 0
    if (options%check) then
        !$acc update self(w1)
        call reference(w0, expected)
        error = difference(w1, expected)
    end if
    do n = 1, options%runs
        spent(n) = seconds()
        call run(w0, w1, options%nx, options%ny)
        spent(n) = seconds() - spent(n)
    end do
    !$acc exit data delete(w0, w1)
    call finish("jacobi", options, spent, error)

contains

    subroutine run(w0, w1, nx, ny)
        integer, intent(in) :: nx, ny
        real, intent(in) :: w0(nx, ny)
        real, intent(inout) :: w1(nx, ny)
        integer :: i, j

        !$acc parallel loop gang vector_length(128) present(w0, w1)
        do j = 2, ny - 1
            !$acc loop vector
            do i = 2, nx - 1
                w1(i, j) = c2 * (w0(i - 1, j - 1) + w0(i + 1, j - 1) &
                               + w0(i - 1, j + 1) + w0(i + 1, j + 1)) &
                    + c1 * (w0(i - 1, j) + w0(i + 1, j) + w0(i, j - 1) + w0(i, j + 1)) &
                    + c0 * w0(i, j)
            end do
        end do
    end subroutine

    !> The plain CPU loop.
    subroutine reference(w0, w1)
        real, intent(in) :: w0(:, :)
        real, intent(inout) :: w1(:, :)
        real(8), parameter :: weight(-1:1, -1:1) = reshape( &
            real([c2, c1, c2, c1, c0, c1, c2, c1, c2], 8), [3, 3])
        integer :: i, j

        do j = 2, size(w0, 2) - 1
            do i = 2, size(w0, 1) - 1
                w1(i, j) = real(sum(weight * w0(i - 1:i + 1, j - 1:j + 1)))
            end do
        end do
    end subroutine

end program
