import { describe, expect, it } from 'vitest';
import { syscallFilter } from './syscall-filter.js';

const ALLOWED = 0x7fff0000;
const NO_SUCH_CALL = 0x50026;

/** Executes the filter as the kernel does: with the four kinds of instructions that the filter uses. */
function decide(architecture: string, auditArch: number, number: number): number {
  const program = syscallFilter(architecture) ?? Buffer.alloc(0);
  let value = 0;
  for (let at = 0; at < program.length; at += 8) {
    const [code, ifTrue, ifFalse] = [program.readUInt16LE(at), program[at + 2] ?? 0, program[at + 3] ?? 0];
    const operand = program.readUInt32LE(at + 4);
    if (code === 0x06) return operand;
    if (code === 0x20) value = operand === 0 ? number : auditArch;
    else if (code === 0x54) value = (value & operand) >>> 0;
    else at += 8 * (value === operand ? ifTrue : ifFalse);
  }
  throw new Error('the program does not end');
}

describe('the filter of system calls', () => {
  it.each([
    ['x64', 0xc000003e, [319, 447, 29, 0x40000000 + 319]],
    ['x64', 0x40000003, [356, 447, 395, 117]],
    ['arm64', 0xc00000b7, [279, 447, 194]],
    ['arm64', 0x40000028, [385, 447, 307, 117]],
  ])(
    'of %s hides only the calls that allocate memory outside the limits, from programs with the AUDIT_ARCH %i',
    (arch, auditArch, hiddenCalls) => {
      for (let number = 0; number < 600; number += 1)
        expect([number, decide(arch, auditArch, number)]).toEqual([
          number,
          hiddenCalls.includes(number) ? NO_SUCH_CALL : ALLOWED,
        ]);
      for (const number of hiddenCalls) expect(decide(arch, auditArch, number)).toBe(NO_SUCH_CALL);
    },
  );

  it('allows no call of an architecture whose programs the kernel does not run', () => {
    expect(decide('x64', 0xc00000b7, 0)).toBe(NO_SUCH_CALL);
  });

  it('is left out on an architecture whose call numbers are not known', () => {
    expect(syscallFilter('riscv64')).toBeNull();
  });
});
