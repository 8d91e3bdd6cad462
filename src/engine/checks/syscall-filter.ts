/**
 * A seccomp filter as a classic BPF program, in the form that bubblewrap reads. memfd_create, memfd_secret and System V
 * shared memory fail with ENOSYS, because memory obtained through them counts neither against the limits of a process nor
 * in the monitoring of the process tree. Programs then use files instead.
 */

interface Abi {
  /** `AUDIT_ARCH_…` of the kernel. */
  readonly auditArch: number;
  /** Numbers of memfd_create, memfd_secret and shmget; on 32-bit also ipc, through which shmget can be called. */
  readonly hiddenCalls: readonly number[];
}

/** A 64-bit kernel also runs programs of its 32-bit architecture. */
const ABIS: Readonly<Record<string, readonly Abi[]>> = {
  x64: [
    { auditArch: 0xc000003e, hiddenCalls: [319, 447, 29] },
    { auditArch: 0x40000003, hiddenCalls: [356, 447, 395, 117] },
  ],
  arm64: [
    { auditArch: 0xc00000b7, hiddenCalls: [279, 447, 194] },
    { auditArch: 0x40000028, hiddenCalls: [385, 447, 307, 117] },
  ],
};

const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const AND = 0x54;
const RETURN = 0x06;
/** Offsets in `struct seccomp_data`. */
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;
const ALLOW = 0x7fff0000;
const NO_SUCH_CALL = 0x00050000 | 38;
/** Clears the bit with which x32 marks its call numbers: x32 has the same AUDIT_ARCH as x86-64. */
const CLEAR_X32_BIT = 0xbfffffff;

/** Null for an architecture whose call numbers are not known. */
export function syscallFilter(architecture: string): Buffer | null {
  const abis = ABIS[architecture];
  if (abis === undefined) return null;
  const program: Buffer[] = [instruction(LOAD, ARCHITECTURE_AT)];
  for (const { auditArch, hiddenCalls } of abis) {
    const block = [
      instruction(LOAD, NUMBER_AT),
      instruction(AND, CLEAR_X32_BIT),
      // A match jumps to the last instruction of the block; without a match the next instruction follows.
      ...hiddenCalls.map((number, index) => instruction(JUMP_IF_EQUAL, number, hiddenCalls.length - index)),
      instruction(RETURN, ALLOW),
      instruction(RETURN, NO_SUCH_CALL),
    ];
    program.push(instruction(JUMP_IF_EQUAL, auditArch, 0, block.length), ...block);
  }
  return Buffer.concat([...program, instruction(RETURN, NO_SUCH_CALL)]);
}

/** `struct sock_filter`. `ifTrue` and `ifFalse`: how many instructions a comparison skips. */
function instruction(code: number, value: number, ifTrue = 0, ifFalse = 0): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
}
