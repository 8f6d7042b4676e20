// BEGIN PREAMBLE
	.version	7.0
	.target	sm_80
	.address_size 64
// END PREAMBLE


// BEGIN GLOBAL FUNCTION DECL: sum
.visible .entry sum (.param.u64 %in_ar0, .param.u64 %in_ar1);

// BEGIN GLOBAL FUNCTION DEF: sum
.visible .entry sum (.param.u64 %in_ar0, .param.u64 %in_ar1)
{
	.reg.u64 %ar0;
	ld.param.u64 %ar0, [%in_ar0];
	.reg.u64 %ar1;
	ld.param.u64 %ar1, [%in_ar1];
	.reg.u32 %r22;
	.reg.u64 %r23;
	.reg.u64 %r24;
	.reg.u64 %r25;
	.reg.f32 %r26;
	.reg.f32 %r27;
	.reg.f32 %r28;
		mov.u32	%r22, %tid.x;
		mul.wide.u32	%r23, %r22, 4;
		add.u64	%r24, %ar0, %r23;
		add.u64	%r25, %ar1, %r23;
		ld.f32	%r26, [%r24];
		ld.f32	%r27, [%r24+4];
		add.f32	%r28, %r26, %r27;
		st.f32	[%r25], %r28;
	ret;
}
