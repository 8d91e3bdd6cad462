import { describe, expect, it } from 'vitest';
import { sandboxArguments } from './sandbox-arguments.js';
import { TEST_LIMITS } from './testing/check-values.js';

/** The sizes of the writable folders, with this number of folders of dependencies that have two caches each. */
function sizesWith(dependencyCount: number, disk_bytes: number): Map<string, number> {
  const binds = Array.from({ length: dependencyCount }, (_, index) => {
    const target = `/project/${index}/node_modules`;
    return { source: target, target, caches: [`${target}/.cache`, `${target}/.vite`] };
  });
  const args = sandboxArguments(binds, { ...TEST_LIMITS, disk_bytes });
  return new Map(
    args.flatMap((arg, at) => (arg === '--size' ? [[String(args[at + 3]), Number(args[at + 1])]] : [])),
  );
}

describe('the writable folders of a sandbox', () => {
  it.each([0, 1, 3, 40])('are together within the disk limit, with %i folders of dependencies', (count) => {
    for (const disk_bytes of [32e6, 1024 ** 3]) {
      const sizes = sizesWith(count, disk_bytes);
      expect(sizes.size).toBe(3 + 2 * count);
      expect([...sizes.values()].reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(disk_bytes);
      expect(sizes.get('/project')).toBeGreaterThanOrEqual(disk_bytes / 2);
    }
  });
});
