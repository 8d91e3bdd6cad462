import { lutimesSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { readWorkspaceFiles } from '../read-files.js';
import { Workspace } from '../workspace.js';
import { mayHaveChanged } from './changed.js';

const LOADED_MS = Date.UTC(2026, 0, 4);
const BEFORE = new Date(LOADED_MS - 1000);
const AFTER = new Date(LOADED_MS + 1000);

let workspace: Workspace;
beforeEach(async () => {
  workspace = new Workspace(await temporaryFolder());
  mkdirSync(workspace.folder);
});

/** Paths are relative to the project. */
function write(...paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(workspace.root, path)), { recursive: true });
    writeFileSync(join(workspace.root, path), 'x: 1\n');
  }
}
function link(path: string, target: string): void {
  mkdirSync(dirname(join(workspace.root, path)), { recursive: true });
  symlinkSync(target, join(workspace.root, path));
}
/** Sets the time of every file, folder and link of the project. */
function ageAll(): void {
  for (const entry of readdirSync(workspace.root, { recursive: true, withFileTypes: true }))
    lutimesSync(join(entry.parentPath, entry.name), BEFORE, BEFORE);
}
const touch = (path: string): void => utimesSync(join(workspace.root, path), AFTER, AFTER);
const hasChanged = (): boolean => mayHaveChanged(workspace, LOADED_MS);

describe('a configuration may have changed', () => {
  it('if a file of it is newer, and not if only work products are', () => {
    const products = [
      'events/a.yml',
      'agents/a.yml',
      'reviews/a.yml',
      '.cache/a.yml',
      'features/fold-back/A.md',
    ];
    const productPaths = products.map((path) => `.ai-workspace/${path}`);
    write('.ai-workspace/features/active/A.yml', 'specification/INTENT.md', ...productPaths);
    ageAll();
    expect(hasChanged()).toBe(false);
    for (const path of productPaths) {
      touch(path);
      touch(dirname(path));
    }
    expect(hasChanged()).toBe(false);
    touch('.ai-workspace/features/active/A.yml');
    expect(hasChanged()).toBe(true);
  });

  it.each(['graph/snapshots/x.yml', 'graph/events/x.yml', 'fold-back/x.yml'])(
    'by the same rule as it is read: %s',
    async (path) => {
      write(`.ai-workspace/${path}`);
      ageAll();
      expect([...(await readWorkspaceFiles(workspace)).files.keys()]).toEqual([path]);
      expect(hasChanged()).toBe(false);
      touch(`.ai-workspace/${path}`);
      expect(hasChanged()).toBe(true);
    },
  );

  it('if a file in a linked folder is newer, or the link itself', () => {
    write('shared/profiles/own.yml');
    link('.ai-workspace/profiles', '../shared/profiles');
    ageAll();
    expect(hasChanged()).toBe(false);
    touch('shared/profiles/own.yml');
    expect(hasChanged()).toBe(true);
    ageAll();
    expect(hasChanged()).toBe(false);
    lutimesSync(workspace.path('profiles'), AFTER, AFTER);
    expect(hasChanged()).toBe(true);
  });

  it('and the search ends if links lead to each other, back, or out of the project', async () => {
    const elsewhere = await temporaryFolder();
    writeFileSync(join(elsewhere, 'X.yml'), 'x: 1\n');
    write('.ai-workspace/graph/a/A.yml', '.ai-workspace/graph/b/B.yml');
    link('.ai-workspace/graph/up', '..');
    link('.ai-workspace/graph/a/other', '../b');
    link('.ai-workspace/graph/b/other', '../a');
    link('.ai-workspace/outside', elsewhere);
    link('.ai-workspace/log', 'events');
    write('.ai-workspace/events/e.yml');
    ageAll();
    utimesSync(join(elsewhere, 'X.yml'), AFTER, AFTER);
    touch('.ai-workspace/events/e.yml');
    expect(hasChanged()).toBe(false);
    touch('.ai-workspace/graph/b/B.yml');
    expect(hasChanged()).toBe(true);
  });
});
