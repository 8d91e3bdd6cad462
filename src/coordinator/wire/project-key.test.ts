import fc from 'fast-check';
import { expect, test } from 'vitest';
import { projectIdSchema } from '../../core/ids.js';
import { folderName } from '../../stores/file/layout.js';
import { projectKeyProblem } from './project-key.js';

const hasFolder = (id: string): boolean => {
  try {
    return folderName(id) !== '';
  } catch {
    return false;
  }
};

test('a tenant or project name is refused if and only if no folder can have it as its name', () => {
  const character = fc.constantFrom(...'AZaz09._~@+-');
  const name = fc
    .array(character, { minLength: 1, maxLength: 128 })
    .map((characters) => characters.join(''))
    .filter((id) => projectIdSchema.safeParse(id).success);
  fc.assert(
    fc.property(name, (id) => {
      expect(projectKeyProblem({ tenant_id: 'acme', project_id: id }) === null).toBe(hasFolder(id));
      expect(projectKeyProblem({ tenant_id: id, project_id: 'shop' }) === null).toBe(hasFolder(id));
    }),
    { numRuns: 2000 },
  );
  for (const id of ['A'.repeat(66), 'A'.repeat(67), 'a'.repeat(128), 'lock', `lock${'L'.repeat(66)}`]) {
    expect(projectKeyProblem({ tenant_id: 'acme', project_id: id }) === null).toBe(hasFolder(id));
  }
});
