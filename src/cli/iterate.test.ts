import { expect, test } from 'vitest';
import { gen } from './testing/terminal.js';
import { createProject } from './testing/workspace.js';

test('gen zoom --mermaid draws the machine of an edge', async () => {
  const terminal = await createProject();
  const zoom = (...args: string[]) => gen(terminal, 'zoom', '--mermaid', ...args);
  const drawn = await zoom('--edge', 'design→code');
  expect(drawn.out).toContain('stateDiagram-v2');
  expect(drawn.out).toContain('ConstructCandidate');
  expect((await zoom()).code).toBe(2);
  expect((await zoom('--edge', 'nowhere')).err).toContain('The graph has no edge nowhere');
});
