import fc from 'fast-check';
import { expect, it } from 'vitest';
import { folderName } from '../../stores/file/layout.js';
import { featureFolder } from './feature-folder.js';

it('keeps an id readable', () => {
  expect(featureFolder('REQ-F-AUTH-001')).toBe('REQ-F-AUTH-001+u');
  expect(featureFolder('req-f-auth-001')).toBe('req-f-auth-001');
  expect(featureFolder('Login')).toBe('Login+10');
  expect(featureFolder('001')).toBe('001');
});

it('escapes what could leave the folder', () => {
  expect(featureFolder('../A/B')).toBe('%2E.%2FA%2FB+u');
  expect(() => featureFolder('')).toThrow(/cannot name a folder/);
  expect(() => featureFolder('A'.repeat(300))).toThrow(/cannot name a folder/);
});

it('gives different ids folders that differ in more than case, also from the folders of earlier versions', () => {
  const id = fc.stringMatching(/^[ab AB+%.0/]{1,8}$/);
  fc.assert(
    fc.property(id, id, (one, other) => {
      fc.pre(one !== other);
      const names = [featureFolder(other), folderName(other)].map((name) => name.toLowerCase());
      expect(names).not.toContain(featureFolder(one).toLowerCase());
    }),
    { numRuns: 2000 },
  );
});
