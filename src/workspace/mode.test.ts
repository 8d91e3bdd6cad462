import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { isSingleAgent, soleAgent } from './mode.js';
import { Workspace } from './workspace.js';

async function workspaceWith(name: string, text: string): Promise<Workspace> {
  const workspace = new Workspace(await temporaryFolder());
  await mkdir(dirname(workspace.path(name)), { recursive: true });
  await writeFile(workspace.path(name), text);
  return workspace;
}

it.each([
  ['coordination.yml', 'coordination: {mode: single}\n', true],
  ['config/coordination.yaml', 'coordination:\n  mode: single\n', true],
  ['coordination.yml', 'coordination: {mode: "\\x73ingle"}\n', true],
  ['coordination.yml', 'coordination: {mode: multi} # not single\n', false],
  ['coordination.yml', 'coordination: {mode: multi}\n', false],
  ['agent_roles.yml', 'coordination: {mode: single}\n', false],
])(
  'a single agent owns the log if the coordination file says so: %s with %j',
  async (name, text, isSingle) => {
    const workspace = await workspaceWith(name, text);
    expect(await isSingleAgent(workspace)).toBe(isSingle);
    expect(await soleAgent(workspace)).toBe(isSingle ? 'primary' : null);
  },
);
