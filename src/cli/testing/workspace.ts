import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import type { TerminalOptions } from './terminal.js';

export const FEATURE_ID = 'REQ-F-AUTH-001';

const FILES: Readonly<Record<string, string>> = {
  '.ai-workspace/coordination.yml': 'project:\n  name: shop\n  project_id: shop\n',
  [`.ai-workspace/features/active/${FEATURE_ID}.yml`]: `feature: ${FEATURE_ID}
title: People log in
intent: INT-001
vector_type: feature
profile: minimal
priority: high
`,
  'specification/INTENT.md': '# Intent\n\nPeople log in to the shop.\n',
  'specification/requirements.md': `${FEATURE_ID}: people log in\n`,
};

/** Creates a project with a workspace and one feature, and the terminal options of a user in it. */
export async function createProject(
  files: Readonly<Record<string, string>> = {},
): Promise<TerminalOptions & { cwd: string }> {
  const cwd = await temporaryFolder();
  for (const [path, text] of Object.entries({ ...FILES, ...files })) await writeProjectFile(cwd, path, text);
  return { cwd, env: { GENESIS_AGENT: 'agent-a', GENESIS_HOME: join(cwd, '.home') }, columns: 80 };
}

export async function writeProjectFile(root: string, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}
