import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { parseMethodology } from '../core/methodology/definition/read-methodology.js';
import { readProjectKey } from './project-file.js';
import { readWorkspaceFiles } from './read-files.js';
import { Workspace } from './workspace.js';

async function workspaceWith(files: Readonly<Record<string, string>>): Promise<Workspace> {
  const workspace = new Workspace(await temporaryFolder());
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(workspace.path(name), '..'), { recursive: true });
    await writeFile(workspace.path(name), text);
  }
  return workspace;
}

const featureText = (id: string): string => `feature: ${id}\ntitle: t\n`;

const namesOf = (texts: ReadonlyMap<string, string>) => [...texts.keys()].sort();

it('follows links within the project, to files and to folders', async () => {
  const workspace = await workspaceWith({ 'features/active/A.yml': featureText('A') });
  const shared = join(workspace.root, 'shared');
  await mkdir(join(shared, 'profiles'), { recursive: true });
  await writeFile(join(shared, 'B.yml'), featureText('B'));
  await writeFile(join(shared, 'profiles', 'own.yml'), 'graph: {include: all}\n');
  await symlink(join(shared, 'B.yml'), workspace.path('features/active/B.yml'));
  await symlink('../shared/profiles', workspace.path('profiles'));
  const { files, unreadable } = await readWorkspaceFiles(workspace);
  expect(namesOf(files)).toEqual(['features/active/A.yml', 'features/active/B.yml', 'profiles/own.yml']);
  expect(unreadable.size).toBe(0);
});

it('refuses by name links that leave the project, lead nowhere, back or into the log, and reads the rest', async () => {
  const elsewhere = await temporaryFolder();
  await mkdir(join(elsewhere, 'folder'));
  await writeFile(join(elsewhere, 'X.yml'), featureText('X'));
  const workspace = await workspaceWith({
    'features/active/A.yml': featureText('A'),
    'events/store.json': '{}',
  });
  await mkdir(workspace.path('graph'));
  const linkTo = (target: string, name: string) => symlink(target, workspace.path(name));
  await linkTo(join(elsewhere, 'X.yml'), 'features/active/X.yml');
  await linkTo(join(elsewhere, 'folder'), 'features/completed');
  await linkTo('nowhere.yml', 'features/active/N.yml');
  await linkTo('../../events/store.json', 'features/active/S.yml');
  await linkTo('..', 'graph/up');
  // This link is not configuration, so it is not reported.
  await linkTo(join(elsewhere, 'X.yml'), 'notes.txt');
  const { files, unreadable } = await readWorkspaceFiles(workspace);
  expect(namesOf(files)).toEqual(['features/active/A.yml']);
  expect(Object.fromEntries(unreadable)).toEqual({
    'features/active/X.yml': expect.stringContaining('leaves the project'),
    'features/completed': expect.stringContaining('leaves the project'),
    'features/active/N.yml': expect.stringContaining('leads nowhere'),
    'features/active/S.yml': expect.stringContaining('into the folder of the log'),
    'graph/up': expect.stringContaining('back to itself'),
  });
});

it('names a file that this user may not read, and reads the rest', async () => {
  const workspace = await workspaceWith({
    'features/active/A.yml': featureText('A'),
    'features/active/B.yml': featureText('B'),
  });
  // Root may read every file, so for root the unreadable file is a link to itself.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    await symlink('C.yml', workspace.path('features/active/C.yml'));
  } else {
    await writeFile(workspace.path('features/active/C.yml'), featureText('C'), { mode: 0o000 });
    onTestFinished(() => chmod(workspace.path('features/active/C.yml'), 0o600));
  }
  const { files, unreadable } = await readWorkspaceFiles(workspace);
  expect(namesOf(files)).toEqual(['features/active/A.yml', 'features/active/B.yml']);
  expect(namesOf(unreadable)).toEqual(['features/active/C.yml']);
});

it('an unreadable feature is left out, and an unreadable topology is an error', () => {
  const files = new Map([['features/active/A.yml', featureText('A')]]);
  const parsed = parseMethodology(files, new Map([['features/active/B.yml', 'Why.']]));
  expect(parsed).toMatchObject({ ok: true, faults: [{ file: 'features/active/B.yml', message: 'Why.' }] });
  expect(parsed.ok && parsed.features.map(({ feature_id }) => feature_id)).toEqual(['A']);
  expect(parseMethodology(files, new Map([['graph/graph_topology.yml', 'Why.']]))).toEqual({
    ok: false,
    faults: [{ file: 'graph/graph_topology.yml', path: '', message: 'Why.' }],
  });
  expect(parseMethodology(files, new Map([['graph', 'Why.']])).ok).toBe(false);
});

it('names the project although another part of its file has a fault, and follows a link to it', async () => {
  const workspace = await workspaceWith({
    'shared.yml': 'project:\n  project_id: shop\nclaims: [\n',
  });
  await symlink('shared.yml', workspace.path('coordination.yml'));
  expect(await readProjectKey(workspace)).toEqual({ tenant_id: 'default', project_id: 'shop' });
  await writeFile(workspace.path('shared.yml'), 'claims: [\nproject: {\n');
  await expect(readProjectKey(workspace)).rejects.toThrow(/coordination\.yml:\d+:\d+ cannot be read/);
});
