import { dirname, join } from 'node:path';
import { readTextOrNull } from './apply.js';
import type { ClientName, SetupEnvironment } from './clients.js';
import { parseJsonNodes } from './parse-json-nodes.js';

/**
 * What the user has to do before the client reads the configuration of this folder; null if nothing. Clients ignore the
 * configuration of a folder until their user trusts the folder or one above it. Only the user may decide that.
 */
export async function trustAdviceFor(
  client: ClientName,
  environment: SetupEnvironment,
): Promise<string | null> {
  if (environment.scope === 'user') return null;
  const { isTrusted, advice } = TRUST[client];
  for (const folder of withParents(environment.folder)) {
    if (await isTrusted(environment, folder)) return null;
  }
  return advice(environment);
}

interface FolderTrust {
  readonly isTrusted: (environment: SetupEnvironment, folder: string) => Promise<boolean>;
  readonly advice: (environment: SetupEnvironment) => string;
}

const TRUST: Readonly<Record<ClientName, FolderTrust>> = {
  claude: {
    isTrusted: async ({ home }, folder) => {
      const project = memberOf(memberOf(await readJson(join(home, '.claude.json')), 'projects'), folder);
      return memberOf(project, 'hasTrustDialogAccepted') === true;
    },
    advice: () => 'Claude Code does not trust this folder yet: start claude here once and accept.',
  },
  codex: {
    isTrusted: async ({ codex_home }, folder) => {
      const config = (await readTextOrNull(join(codex_home, 'config.toml'))) ?? '';
      const [, table] = config.split(`[projects.${JSON.stringify(folder)}]`);
      return /^\s*trust_level\s*=\s*["']trusted["']/m.test(table?.split(/^\[/m)[0] ?? '');
    },
    advice: ({ codex_home, folder }) =>
      'Codex does not trust this folder yet: start codex here once and accept, or add to ' +
      `${join(codex_home, 'config.toml')} the lines [projects.${JSON.stringify(folder)}] and trust_level = "trusted".`,
  },
  gemini: {
    isTrusted: async ({ home }, folder) => {
      const folders = await readJson(join(home, '.gemini', 'trustedFolders.json'));
      return String(memberOf(folders, folder)).startsWith('TRUST_');
    },
    advice: () => 'Gemini CLI does not trust this folder yet: start gemini here once and accept.',
  },
};

/** The folder and its parents, up to the root. */
function* withParents(folder: string): Generator<string> {
  yield folder;
  for (let parent = dirname(folder); parent !== folder; parent = dirname(folder)) {
    folder = parent;
    yield folder;
  }
}

/** The value of a JSON file; null if there is no such file, or if it is not JSON. */
async function readJson(path: string): Promise<unknown> {
  try {
    return parseJsonNodes((await readTextOrNull(path)) ?? 'null').value;
  } catch {
    return null;
  }
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
