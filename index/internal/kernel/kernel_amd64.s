#include "textflag.h"

// The integer loops take four rows at a time, which share the loads of the
// query, and fetch ahead the four rows after them.

// ROW puts the address of row ids[i] in reg. DX: ids, R9: length.
#define ROW(i, reg) \
	MOVLQSX (i*4)(DX), reg; \
	IMULQ   R9, reg;        \
	ADDQ    codes+8(FP), reg

// FOUR puts the rows at hand in R10 to R13 and those to come, if there are four
// of them, in SI, BX, R8 and R15. CX: rows left.
#define FOUR(label) \
	ROW(0, R10);     \
	ROW(1, R11);     \
	ROW(2, R12);     \
	ROW(3, R13);     \
	MOVQ R10, SI;    \
	MOVQ R11, BX;    \
	MOVQ R12, R8;    \
	MOVQ R13, R15;   \
	CMPQ CX, $8;     \
	JLT  label;      \
	ROW(4, SI);      \
	ROW(5, BX);      \
	ROW(6, R8);      \
	ROW(7, R15)

#define FETCH \
	PREFETCHT0 (SI)(AX*1); \
	PREFETCHT0 (BX)(AX*1); \
	PREFETCHT0 (R8)(AX*1); \
	PREFETCHT0 (R15)(AX*1)

// AHEAD fetches all rows if they are few, as a step through a graph needs: they lie
// anywhere, and their way from memory is longer than what is done with them.
#define AHEAD(row, part, done) \
	CMPQ CX, $32; \
	JGT  done;    \
	XORQ BX, BX;  \
row: \
	MOVLQSX (DX)(BX*4), R10; \
	IMULQ   R9, R10; \
	ADDQ    codes+8(FP), R10; \
	LEAQ    (R10)(R9*1), R11; \
part: \
	PREFETCHT0 (R10); \
	ADDQ $64, R10; \
	CMPQ R10, R11; \
	JLT  part; \
	INCQ BX; \
	CMPQ BX, CX; \
	JLT  row

// STORE4 writes four results and moves on.
#define STORE4 \
	MOVQ    out+40(FP), AX;  \
	VMOVDQU X0, (AX);        \
	ADDQ    $16, AX;         \
	MOVQ    AX, out+40(FP);  \
	ADDQ    $16, DX;         \
	SUBQ    $4, CX

// STORE1 writes one.
#define STORE1 \
	MOVQ  out+40(FP), AX;  \
	VMOVD X0, (AX);        \
	ADDQ  $4, AX;          \
	MOVQ  AX, out+40(FP);  \
	ADDQ  $4, DX;          \
	DECQ  CX

// SUM4 adds up Y0 to Y3, each on its own, into the four parts of X0.
#define SUM4 \
	VPHADDD      Y1, Y0, Y0; \
	VPHADDD      Y3, Y2, Y2; \
	VPHADDD      Y2, Y0, Y0; \
	VEXTRACTI128 $1, Y0, X1; \
	VPADDD       X1, X0, X0

// SUM1 adds up Y0 into X0.
#define SUM1 \
	VEXTRACTI128 $1, Y0, X1;  \
	VPADDD       X1, X0, X0;  \
	VPHADDD      X0, X0, X0;  \
	VPHADDD      X0, X0, X0

// HALVE folds a 512-bit register into its lower half.
#define HALVE(z, y) \
	VEXTRACTI64X4 $1, z, Y31; \
	VPADDD        Y31, y, y

// BYTES2 adds the products of 32 codes to sum: the query's sign goes over to
// the code, so that one factor is unsigned, as VPMADDUBSW wants it. Y4: query,
// Y5: its absolute value, Y15: ones. Two products are at most 2*127*127, which
// fits 16 bits.
#define BYTES2(row, sum) \
	VMOVDQU    (row)(AX*1), Y6; \
	VPSIGNB    Y4, Y6, Y6;      \
	VPMADDUBSW Y6, Y5, Y6;      \
	VPMADDWD   Y15, Y6, Y6;     \
	VPADDD     Y6, sum, sum

// func bytesAVX2(q, codes *int8, length, n int, ids, out *int32)
TEXT ·bytesAVX2(SB), NOSPLIT, $0-48
	MOVQ     q+0(FP), DI
	MOVQ     length+16(FP), R9
	MOVQ     n+24(FP), CX
	MOVQ     ids+32(FP), DX
	AHEAD(row, part, ahead)

ahead:
	VPCMPEQW Y15, Y15, Y15
	VPSRLW   $15, Y15, Y15

next:
	CMPQ CX, $4
	JLT  rest
	FOUR(four)

four:
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	XORQ  AX, AX

loop4:
	FETCH
	VMOVDQU (DI)(AX*1), Y4
	VPABSB  Y4, Y5
	BYTES2(R10, Y0)
	BYTES2(R11, Y1)
	BYTES2(R12, Y2)
	BYTES2(R13, Y3)
	ADDQ    $32, AX
	VMOVDQU (DI)(AX*1), Y4
	VPABSB  Y4, Y5
	BYTES2(R10, Y0)
	BYTES2(R11, Y1)
	BYTES2(R12, Y2)
	BYTES2(R13, Y3)
	ADDQ    $32, AX
	CMPQ    AX, R9
	JLT     loop4
	SUM4
	STORE4
	JMP     next

rest:
	TESTQ CX, CX
	JEQ   done
	ROW(0, R10)
	VPXOR Y0, Y0, Y0
	XORQ  AX, AX

loop1:
	VMOVDQU (DI)(AX*1), Y4
	VPABSB  Y4, Y5
	BYTES2(R10, Y0)
	ADDQ    $32, AX
	CMPQ    AX, R9
	JLT     loop1
	SUM1
	STORE1
	JMP     rest

done:
	VZEROUPPER
	RET

// BYTES512 adds the products of 64 codes to sum. VPDPBUSD wants one factor
// unsigned: codes get 128 added, by flipping the top bit, and the end takes
// 128 times the query's sum off again. Z4: query, Z29: 0x80 everywhere.
#define BYTES512(row, part, sum) \
	VPXORQ   (row)(AX*1), Z29, part; \
	VPDPBUSD Z4, part, sum

// func bytesAVX512(q, codes *int8, length, n int, ids, out *int32)
TEXT ·bytesAVX512(SB), NOSPLIT, $0-48
	MOVQ         q+0(FP), DI
	MOVQ         length+16(FP), R9
	MOVQ         n+24(FP), CX
	MOVQ         ids+32(FP), DX
	AHEAD(row, part, ahead)

ahead:
	MOVL         $0x80808080, AX
	VPBROADCASTD AX, Z29
	VPXORQ       Z0, Z0, Z0
	XORQ         AX, AX

bias:
	VPDPBUSD (DI)(AX*1), Z29, Z0
	ADDQ     $64, AX
	CMPQ     AX, R9
	JLT      bias
	HALVE(Z0, Y0)
	SUM1
	VPBROADCASTD X0, X30

next:
	CMPQ CX, $4
	JLT  rest
	FOUR(four)

four:
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	XORQ   AX, AX

loop4:
	FETCH
	VMOVDQU64 (DI)(AX*1), Z4
	BYTES512(R10, Z5, Z0)
	BYTES512(R11, Z6, Z1)
	BYTES512(R12, Z7, Z2)
	BYTES512(R13, Z8, Z3)
	ADDQ      $64, AX
	CMPQ      AX, R9
	JLT       loop4
	HALVE(Z0, Y0)
	HALVE(Z1, Y1)
	HALVE(Z2, Y2)
	HALVE(Z3, Y3)
	SUM4
	VPSUBD    X30, X0, X0
	STORE4
	JMP       next

rest:
	TESTQ  CX, CX
	JEQ    done
	ROW(0, R10)
	VPXORQ Z0, Z0, Z0
	XORQ   AX, AX

loop1:
	VMOVDQU64 (DI)(AX*1), Z4
	BYTES512(R10, Z5, Z0)
	ADDQ      $64, AX
	CMPQ      AX, R9
	JLT       loop1
	HALVE(Z0, Y0)
	SUM1
	VPSUBD    X30, X0, X0
	STORE1
	JMP       rest

done:
	VZEROUPPER
	RET

// WIDE2 adds the products of 32 codes to sum. Y4 and Y5: query.
#define WIDE2(row, sum) \
	VPMOVSXBW (row)(AX*1), Y6;   \
	VPMOVSXBW 16(row)(AX*1), Y7; \
	VPMADDWD  Y4, Y6, Y6;        \
	VPMADDWD  Y5, Y7, Y7;        \
	VPADDD    Y6, sum, sum;      \
	VPADDD    Y7, sum, sum

// func wideAVX2(q *int16, codes *int8, length, n int, ids, out *int32)
TEXT ·wideAVX2(SB), NOSPLIT, $0-48
	MOVQ q+0(FP), DI
	MOVQ length+16(FP), R9
	MOVQ n+24(FP), CX
	MOVQ ids+32(FP), DX

next:
	CMPQ CX, $4
	JLT  rest
	FOUR(four)

four:
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	XORQ  AX, AX

loop4:
	FETCH
	VMOVDQU (DI)(AX*2), Y4
	VMOVDQU 32(DI)(AX*2), Y5
	WIDE2(R10, Y0)
	WIDE2(R11, Y1)
	WIDE2(R12, Y2)
	WIDE2(R13, Y3)
	ADDQ    $32, AX
	VMOVDQU (DI)(AX*2), Y4
	VMOVDQU 32(DI)(AX*2), Y5
	WIDE2(R10, Y0)
	WIDE2(R11, Y1)
	WIDE2(R12, Y2)
	WIDE2(R13, Y3)
	ADDQ    $32, AX
	CMPQ    AX, R9
	JLT     loop4
	SUM4
	STORE4
	JMP     next

rest:
	TESTQ CX, CX
	JEQ   done
	ROW(0, R10)
	VPXOR Y0, Y0, Y0
	XORQ  AX, AX

loop1:
	VMOVDQU (DI)(AX*2), Y4
	VMOVDQU 32(DI)(AX*2), Y5
	WIDE2(R10, Y0)
	ADDQ    $32, AX
	CMPQ    AX, R9
	JLT     loop1
	SUM1
	STORE1
	JMP     rest

done:
	VZEROUPPER
	RET

// WIDE512 adds the products of 64 codes to sum. Z4 and Z5: query.
#define WIDE512(row, lower, upper, sum) \
	VPMOVSXBW (row)(AX*1), lower;   \
	VPMOVSXBW 32(row)(AX*1), upper; \
	VPDPWSSD  Z4, lower, sum;       \
	VPDPWSSD  Z5, upper, sum

// func wideAVX512(q *int16, codes *int8, length, n int, ids, out *int32)
TEXT ·wideAVX512(SB), NOSPLIT, $0-48
	MOVQ q+0(FP), DI
	MOVQ length+16(FP), R9
	MOVQ n+24(FP), CX
	MOVQ ids+32(FP), DX

next:
	CMPQ CX, $4
	JLT  rest
	FOUR(four)

four:
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	XORQ   AX, AX

loop4:
	FETCH
	VMOVDQU64 (DI)(AX*2), Z4
	VMOVDQU64 64(DI)(AX*2), Z5
	WIDE512(R10, Z6, Z7, Z0)
	WIDE512(R11, Z8, Z9, Z1)
	WIDE512(R12, Z10, Z11, Z2)
	WIDE512(R13, Z12, Z13, Z3)
	ADDQ      $64, AX
	CMPQ      AX, R9
	JLT       loop4
	HALVE(Z0, Y0)
	HALVE(Z1, Y1)
	HALVE(Z2, Y2)
	HALVE(Z3, Y3)
	SUM4
	STORE4
	JMP       next

rest:
	TESTQ  CX, CX
	JEQ    done
	ROW(0, R10)
	VPXORQ Z0, Z0, Z0
	XORQ   AX, AX

loop1:
	VMOVDQU64 (DI)(AX*2), Z4
	VMOVDQU64 64(DI)(AX*2), Z5
	WIDE512(R10, Z6, Z7, Z0)
	ADDQ      $64, AX
	CMPQ      AX, R9
	JLT       loop1
	HALVE(Z0, Y0)
	SUM1
	STORE1
	JMP       rest

done:
	VZEROUPPER
	RET

// The float32 loops follow dotGo: 32 partial sums, multiplied and added apart.

// func dotAVX2(a, b *float32, length int) float32
TEXT ·dotAVX2(SB), NOSPLIT, $0-28
	MOVQ   a+0(FP), SI
	MOVQ   b+8(FP), DI
	MOVQ   length+16(FP), CX
	XORQ   AX, AX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3

loop:
	VMOVUPS (SI)(AX*4), Y4
	VMOVUPS 32(SI)(AX*4), Y5
	VMOVUPS 64(SI)(AX*4), Y6
	VMOVUPS 96(SI)(AX*4), Y7
	VMULPS  (DI)(AX*4), Y4, Y4
	VMULPS  32(DI)(AX*4), Y5, Y5
	VMULPS  64(DI)(AX*4), Y6, Y6
	VMULPS  96(DI)(AX*4), Y7, Y7
	VADDPS  Y4, Y0, Y0
	VADDPS  Y5, Y1, Y1
	VADDPS  Y6, Y2, Y2
	VADDPS  Y7, Y3, Y3
	ADDQ    $32, AX
	CMPQ    AX, CX
	JLT     loop
	VADDPS  Y2, Y0, Y0
	VADDPS  Y3, Y1, Y1
	VADDPS  Y1, Y0, Y0

	VEXTRACTF128 $1, Y0, X1
	VADDPS       X1, X0, X0
	VPERMILPD    $1, X0, X1
	VADDPS       X1, X0, X0
	VMOVSHDUP    X0, X1
	VADDSS       X1, X0, X0
	VZEROUPPER
	MOVSS        X0, ret+24(FP)
	RET

// func dotAVX512(a, b *float32, length int) float32
TEXT ·dotAVX512(SB), NOSPLIT, $0-28
	MOVQ   a+0(FP), SI
	MOVQ   b+8(FP), DI
	MOVQ   length+16(FP), CX
	XORQ   AX, AX
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1

loop:
	VMOVUPS (SI)(AX*4), Z2
	VMOVUPS 64(SI)(AX*4), Z3
	VMULPS  (DI)(AX*4), Z2, Z2
	VMULPS  64(DI)(AX*4), Z3, Z3
	VADDPS  Z2, Z0, Z0
	VADDPS  Z3, Z1, Z1
	ADDQ    $32, AX
	CMPQ    AX, CX
	JLT     loop
	VADDPS  Z1, Z0, Z0

	VEXTRACTF64X4 $1, Z0, Y1
	VADDPS        Y1, Y0, Y0
	VEXTRACTF128  $1, Y0, X1
	VADDPS        X1, X0, X0
	VPERMILPD     $1, X0, X1
	VADDPS        X1, X0, X0
	VMOVSHDUP     X0, X1
	VADDSS        X1, X0, X0
	VZEROUPPER
	MOVSS         X0, ret+24(FP)
	RET

// PEAK1 leaves the largest of the four parts of X0 in its lowest.
#define PEAK1 \
	VPSHUFD $0x4E, X0, X1; \
	VPMAXUD X1, X0, X0;    \
	VPSHUFD $0xB1, X0, X1; \
	VPMAXUD X1, X0, X0

// PEAK2 is peakGo for 8 components. Y15: all bits but the sign.
#define PEAK2(part, peak) \
	VPAND   part(SI)(AX*4), Y15, Y2; \
	VPMAXUD Y2, peak, peak

// func peakAVX2(v *float32, length int) float32
TEXT ·peakAVX2(SB), NOSPLIT, $0-20
	MOVQ     v+0(FP), SI
	MOVQ     length+8(FP), CX
	XORQ     AX, AX
	VPCMPEQD Y15, Y15, Y15
	VPSRLD   $1, Y15, Y15
	VPXOR    Y0, Y0, Y0
	VPXOR    Y1, Y1, Y1

loop:
	PEAK2(0, Y0)
	PEAK2(32, Y1)
	PEAK2(64, Y0)
	PEAK2(96, Y1)
	ADDQ    $32, AX
	CMPQ    AX, CX
	JLT     loop
	VPMAXUD Y1, Y0, Y0

	VEXTRACTI128 $1, Y0, X1
	VPMAXUD      X1, X0, X0
	PEAK1
	VZEROUPPER
	MOVSS        X0, ret+16(FP)
	RET

// PEAK512 is PEAK2 for 16 components. Z15: all bits but the sign.
#define PEAK512(part, peak) \
	VPANDD  part(SI)(AX*4), Z15, Z2; \
	VPMAXUD Z2, peak, peak

// func peakAVX512(v *float32, length int) float32
TEXT ·peakAVX512(SB), NOSPLIT, $0-20
	MOVQ         v+0(FP), SI
	MOVQ         length+8(FP), CX
	MOVL         $0x7FFFFFFF, AX
	VPBROADCASTD AX, Z15
	VPXORQ       Z0, Z0, Z0
	VPXORQ       Z1, Z1, Z1
	XORQ         AX, AX

loop:
	PEAK512(0, Z0)
	PEAK512(64, Z1)
	PEAK512(128, Z0)
	PEAK512(192, Z1)
	ADDQ    $64, AX
	CMPQ    AX, CX
	JLT     loop
	VPMAXUD Z1, Z0, Z0

	VEXTRACTI64X4 $1, Z0, Y1
	VPMAXUD       Y1, Y0, Y0
	VEXTRACTI128  $1, Y0, X1
	VPMAXUD       X1, X0, X0
	PEAK1
	VZEROUPPER
	MOVSS         X0, ret+16(FP)
	RET

// The rounding loops follow roundGo: 32 partial sums of float64, and the number
// 3<<22, which as bits is 0x4B400000, added to have the codes in the lowest bits.

// ROUND2 makes 8 codes and adds the squares of what they leave out to two sums
// of four parts. Y8: inverse, Y9: 3<<22.
#define ROUND2(part, lower, upper) \
	VMULPS       (4*part)(SI)(AX*4), Y8, Y10; \
	VADDPS       Y9, Y10, Y11;                \
	VSUBPS       Y9, Y11, Y12;                \
	VSUBPS       Y12, Y10, Y12;               \
	VPSUBD       Y9, Y11, Y11;                \
	VEXTRACTI128 $1, Y11, X10;                \
	VPACKSSDW    X10, X11, X11;               \
	VPACKSSWB    X11, X11, X11;               \
	VMOVQ        X11, (part)(DI)(AX*1);       \
	VCVTPS2PD    X12, Y13;                    \
	VEXTRACTF128 $1, Y12, X12;                \
	VCVTPS2PD    X12, Y14;                    \
	VMULPD       Y13, Y13, Y13;               \
	VMULPD       Y14, Y14, Y14;               \
	VADDPD       Y13, lower, lower;           \
	VADDPD       Y14, upper, upper

// func roundAVX2(codes *int8, v *float32, length int, inverse float32) float64
TEXT ·roundAVX2(SB), NOSPLIT, $0-40
	MOVQ         codes+0(FP), DI
	MOVQ         v+8(FP), SI
	MOVQ         length+16(FP), CX
	VBROADCASTSS inverse+24(FP), Y8
	MOVL         $0x4B400000, AX
	VMOVD        AX, X9
	VPBROADCASTD X9, Y9
	XORQ         AX, AX
	VXORPD       Y0, Y0, Y0
	VXORPD       Y1, Y1, Y1
	VXORPD       Y2, Y2, Y2
	VXORPD       Y3, Y3, Y3
	VXORPD       Y4, Y4, Y4
	VXORPD       Y5, Y5, Y5
	VXORPD       Y6, Y6, Y6
	VXORPD       Y7, Y7, Y7

loop:
	ROUND2(0, Y0, Y1)
	ROUND2(8, Y2, Y3)
	ROUND2(16, Y4, Y5)
	ROUND2(24, Y6, Y7)
	ADDQ   $32, AX
	CMPQ   AX, CX
	JLT    loop
	VADDPD Y4, Y0, Y0
	VADDPD Y5, Y1, Y1
	VADDPD Y6, Y2, Y2
	VADDPD Y7, Y3, Y3
	VADDPD Y2, Y0, Y0
	VADDPD Y3, Y1, Y1
	VADDPD Y1, Y0, Y0

	VEXTRACTF128 $1, Y0, X1
	VADDPD       X1, X0, X0
	VPERMILPD    $1, X0, X1
	VADDSD       X1, X0, X0
	VZEROUPPER
	MOVSD        X0, ret+32(FP)
	RET

// ROUND512 is ROUND2 for 16 codes and sums of eight parts. Z8: inverse, Z9: 3<<22.
#define ROUND512(part, lower, upper) \
	VMULPS        (4*part)(SI)(AX*4), Z8, Z10; \
	VADDPS        Z9, Z10, Z11;                \
	VSUBPS        Z9, Z11, Z12;                \
	VSUBPS        Z12, Z10, Z12;               \
	VPMOVDB       Z11, (part)(DI)(AX*1);       \
	VCVTPS2PD     Y12, Z13;                    \
	VEXTRACTF64X4 $1, Z12, Y12;                \
	VCVTPS2PD     Y12, Z14;                    \
	VMULPD        Z13, Z13, Z13;               \
	VMULPD        Z14, Z14, Z14;               \
	VADDPD        Z13, lower, lower;           \
	VADDPD        Z14, upper, upper

// func roundAVX512(codes *int8, v *float32, length int, inverse float32) float64
TEXT ·roundAVX512(SB), NOSPLIT, $0-40
	MOVQ         codes+0(FP), DI
	MOVQ         v+8(FP), SI
	MOVQ         length+16(FP), CX
	VBROADCASTSS inverse+24(FP), Z8
	MOVL         $0x4B400000, AX
	VPBROADCASTD AX, Z9
	XORQ         AX, AX
	VPXORQ       Z0, Z0, Z0
	VPXORQ       Z1, Z1, Z1
	VPXORQ       Z2, Z2, Z2
	VPXORQ       Z3, Z3, Z3

loop:
	ROUND512(0, Z0, Z1)
	ROUND512(16, Z2, Z3)
	ADDQ   $32, AX
	CMPQ   AX, CX
	JLT    loop
	VADDPD Z2, Z0, Z0
	VADDPD Z3, Z1, Z1
	VADDPD Z1, Z0, Z0

	VEXTRACTF64X4 $1, Z0, Y1
	VADDPD        Y1, Y0, Y0
	VEXTRACTF128  $1, Y0, X1
	VADDPD        X1, X0, X0
	VPERMILPD     $1, X0, X1
	VADDSD        X1, X0, X0
	VZEROUPPER
	MOVSD         X0, ret+32(FP)
	RET
