import { basename, dirname, relative } from 'node:path';
import type { Coordinator } from '../coordinator/coordinator.js';
import { STORE_FILE } from '../stores/file/layout.js';
import { missingIgnores } from '../workspace/git-ignore.js';
import {
  findTrackedSecrets,
  repositoryOf,
  STORE_SECRETS,
  WORKSPACE_SECRETS,
} from '../workspace/tracked-secrets.js';
import { WORKSPACE_FOLDER, type Workspace } from '../workspace/workspace.js';
import type { Io } from './io.js';
import { countText } from './output/text.js';
import { shellLine } from './setup/shell-line.js';

/**
 * Names the store's secret files that git tracks, and the commands to untrack them. Also warns if git cannot be run. Empty if
 * there is nothing to do.
 */
export async function trackedWarning(io: Io, folder: string): Promise<string[]> {
  const isWorkspace = basename(dirname(folder)) === WORKSPACE_FOLDER;
  const { paths, hasKeys } = await findTrackedSecrets(
    folder,
    isWorkspace ? WORKSPACE_SECRETS : STORE_SECRETS,
  );
  const displayFolder = relative(io.cwd, folder) || '.';
  if (paths.length === 0 && hasKeys) {
    return [
      `${displayFolder} is in a git repository, but git cannot be run: the store's secret may be in the repository.`,
      'All keys are refused. Install git, or keep the store outside the repository (--store file:/var/lib/genesis).',
    ];
  }
  if (paths.length === 0) return [];
  const names = [...new Set(paths.map((path) => path.split('/', 1)[0] ?? ''))];
  const secrets = names.filter((name) => name.toLowerCase() === STORE_FILE);
  const others = names.filter((name) => !secrets.includes(name));
  const git = `git -C ${quoted(displayFolder)} rm --quiet`;
  return [
    `Git tracks ${names.map((name) => `${displayFolder}/${name}`).join(' and ')}: everyone with access to the repository has these secrets.`,
    hasKeys
      ? 'All keys are refused until this is fixed. Stop the server, run this, commit, and create new keys (gen key create):'
      : 'Run this, and commit:',
    // Delete the file: its secret is exposed, and the next start creates a new one.
    ...(secrets.length > 0 ? [`  ${git} --force -- ${secrets.join(' ')}`] : []),
    ...(others.length > 0 ? [`  ${git} -r --cached -- ${others.join(' ')}`] : []),
  ];
}

/** Names the lines missing from a workspace's `.gitignore`. Empty if there are none, or outside a repository. */
export async function ignoreWarning(workspace: Workspace): Promise<string[]> {
  if ((await repositoryOf(workspace.root)) === null) return [];
  const missing = missingIgnores(workspace);
  if (missing.length === 0) return [];
  return [`${WORKSPACE_FOLDER}/.gitignore lacks ${missing.join(', ')}. Add the missing lines: gen migrate`];
}

/**
 * Warns about keys that are refused because they are not bound to this store, and about accepted keys that `gen migrate` has
 * to bind. `url` is the URL of the store, without its password.
 */
export async function keyWarning({ keys }: Coordinator, url: string): Promise<string[]> {
  const ring = await keys.openKeyRing();
  const [refused, unbound] = [ring.rejectedKeys().length, ring.legacyUnboundKeys().length];
  const { untrusted_files } = ring.project.store.capabilities;
  const lines: string[] = [];
  if (refused > 0 && untrusted_files !== 'secret') {
    lines.push(
      `${countText(refused, 'key')} of this log ${refused === 1 ? 'is' : 'are'} refused: created in another store, or before keys were bound to ` +
        `their store. Stop the server and create new ones: gen key create --role admin --store ${quoted(url)}`,
    );
  }
  if (unbound > 0) {
    lines.push(
      `${countText(unbound, 'key')} ${unbound === 1 ? 'was' : 'were'} created before keys were bound to their store. Bind ` +
        `${unbound === 1 ? 'it' : 'them'} once: gen migrate --store ${quoted(url)}`,
    );
  }
  return lines;
}

const quoted = (word: string): string => shellLine('posix', [word]);
