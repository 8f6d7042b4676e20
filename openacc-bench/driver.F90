!> What driver.h is to the C benchmarks: options, initial numbers, comparison, the line printed.
!>
!> A program calls `read_options`, makes its arrays with `initialise`, runs its OpenACC loop once,
!> compares with a plain CPU loop by `difference`, times `options%runs` runs, and ends in `finish`.
module driver
    use, intrinsic :: ieee_arithmetic, only: ieee_is_nan
    use, intrinsic :: iso_fortran_env, only: real32, real64, int64, error_unit
#ifdef _OPENACC
    use openacc
#endif
    implicit none
    private
    public :: options_type, read_options, initialise, difference, seconds, finish

    !> How far results may be off, relative to the largest number expected.
    real(real64), parameter :: tolerance = 1e-5_real64

    type :: options_type
        integer :: nx, ny, runs = 10
        logical :: check = .true.
    end type

contains

    !> Reads the command line. `nx`, `ny`: the usual size; `paper_nx`, `paper_ny`: that of the paper.
    function read_options(nx, ny, paper_nx, paper_ny) result(options)
        integer, intent(in) :: nx, ny, paper_nx, paper_ny
        type(options_type) :: options
        character(len=64) :: word
        integer :: n, cross, status

        options%nx = nx
        options%ny = ny
        n = 1
        do while (n <= command_argument_count())
            call get_command_argument(n, word)
            status = 0
            select case (word)
            case ("--paper")
                options%nx = paper_nx
                options%ny = paper_ny
            case ("--no-check")
                options%check = .false.
            case ("--runs")
                n = n + 1
                call get_command_argument(n, word)
                read (word, *, iostat=status) options%runs
            case ("--size")
                n = n + 1
                call get_command_argument(n, word)
                cross = index(word, "x")
                if (cross == 0) then
                    read (word, *, iostat=status) options%nx
                    options%ny = options%nx
                else
                    read (word(:cross - 1), *, iostat=status) options%nx
                    if (status == 0) read (word(cross + 1:), *, iostat=status) options%ny
                end if
            case default
                status = 1
            end select
            if (status /= 0 .or. min(options%nx, options%ny, options%runs) < 1) then
                write (error_unit, "(a)") "usage: [--size NX[xNY] | --paper] [--runs N] [--no-check]"
                stop 2
            end if
            n = n + 1
        end do
    end function

    !> Fills an array with numbers in [0.5, 1.5), the same on every machine.
    subroutine initialise(array, seed)
        real(real32), intent(out) :: array(:, :)
        integer, intent(in) :: seed
        integer(int64) :: state
        integer :: i, j

        state = 88172645463325252_int64 + seed
        do j = 1, size(array, 2)
            do i = 1, size(array, 1)
                state = ieor(state, shiftl(state, 13))
                state = ieor(state, shiftr(state, 7))
                state = ieor(state, shiftl(state, 17))
                array(i, j) = 0.5_real32 + real(shiftr(state, 40), real32) / 2.0_real32**24
            end do
        end do
    end subroutine

    !> The largest difference, relative to the largest number expected; huge for a NaN.
    function difference(found, expected) result(largest)
        real(real32), intent(in) :: found(:, :), expected(:, :)
        real(real64) :: largest

        if (any(ieee_is_nan(found))) then
            largest = huge(largest)
        else
            largest = maxval(abs(real(found, real64) - expected)) / maxval(abs(expected))
        end if
    end function

    function seconds()
        real(real64) :: seconds
        integer(int64) :: count, rate

        call system_clock(count, rate)
        seconds = real(count, real64) / rate
    end function

    !> Prints the result and ends the program: status 0 if it is right or was not checked.
    subroutine finish(name, options, spent, error)
        character(len=*), intent(in) :: name
        type(options_type), intent(in) :: options
        real(real64), intent(in) :: spent(:), error
        character(len=16) :: device, verdict
        logical :: right

        device = "host"
#ifdef _OPENACC
        device = "device (OpenACC)"
        if (acc_get_device_type() == acc_device_host) device = "host (OpenACC)"
#endif
        right = error <= tolerance .or. .not. options%check
        verdict = "not checked"
        if (options%check) verdict = merge("right", "WRONG", right)
        print "(a, 1x, i0, a, i0, 4a, i0, a, f0.3, a, f0.3, a, es8.1, 2a)", name, options%nx, "x", &
            options%ny, " on ", trim(device), ": ", "best of ", size(spent), " ", &
            1e3_real64 * minval(spent), " ms, mean ", 1e3_real64 * sum(spent) / size(spent), &
            " ms, largest error ", error, ": ", trim(verdict)
        if (.not. right) stop 1
    end subroutine

end module
