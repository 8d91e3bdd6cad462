import { join } from 'node:path';
import { type Entry, jsonPart } from './json-part.js';
import { markedPart } from './marked-part.js';
import type { Part } from './part.js';
import { type Shell, shellLine } from './shell-line.js';

export const CLIENTS = ['claude', 'codex', 'gemini'] as const;
export type ClientName = (typeof CLIENTS)[number];
export const SCOPES = ['project', 'user'] as const;
export type Scope = (typeof SCOPES)[number];

export interface Surroundings {
  readonly scope: Scope;
  /** Where the project lies. */
  readonly folder: string;
  readonly home: string;
  readonly codex_home: string;
  readonly platform: NodeJS.Platform;
  /** The words that start this program, and the options that say which server and project. */
  readonly gen: readonly [string, ...string[]];
  readonly options: readonly string[];
  /** A token is in the environment: it is passed on by name, and never written down. */
  readonly has_token: boolean;
}

const SERVER = 'genesis';
const HOOK_SECONDS_MAX = 15;
const TOKEN = 'GENESIS_TOKEN';
/** The shell that a client gives its hooks to on Windows; that of Claude Code is Git Bash. */
const WINDOWS_SHELLS: Readonly<Record<ClientName, Shell>> = {
  claude: 'posix',
  codex: 'cmd',
  gemini: 'powershell',
};

/** What a client must be told, and where it reads it. */
export const PARTS: Readonly<Record<ClientName, (around: Surroundings) => readonly Part[]>> = {
  claude: (around) => {
    const { scope, folder, home } = around;
    const user = scope === 'user';
    const settings = join(user ? home : folder, '.claude', 'settings.json');
    return [
      jsonPart(user ? join(home, '.claude.json') : join(folder, '.mcp.json'), 'the MCP server', [
        server({ type: 'stdio', ...started(around) }),
      ]),
      jsonPart(settings, 'hooks that renew and remember', [
        hook('PostToolUse', { matcher: '*' }, { command: hookCommand('claude', around, 'renew') }),
        hook('SessionStart', {}, { command: hookCommand('claude', around, 'handles') }),
      ]),
      guide(user ? join(home, '.claude', 'CLAUDE.md') : join(folder, 'AGENTS.md')),
    ];
  },
  codex: (around) => {
    const root = around.scope === 'user' ? around.codex_home : join(around.folder, '.codex');
    return [
      codexPart(join(root, 'config.toml'), around),
      guide(join(around.scope === 'user' ? root : around.folder, 'AGENTS.md')),
    ];
  },
  gemini: (around) => {
    const { scope, folder, home } = around;
    const user = scope === 'user';
    const env = around.has_token ? { env: { [TOKEN]: `$${TOKEN}` } } : {};
    const timeout = HOOK_SECONDS_MAX * 1000;
    const renew = { name: 'genesis-renew', command: hookCommand('gemini', around, 'renew'), timeout };
    const handles = { name: 'genesis-handles', command: hookCommand('gemini', around, 'handles'), timeout };
    return [
      jsonPart(join(user ? home : folder, '.gemini', 'settings.json'), 'the MCP server and its hooks', [
        server({ ...started(around), ...env }),
        hook('AfterTool', { matcher: '.*' }, renew),
        hook('SessionStart', {}, handles),
        hook('PreCompress', {}, handles),
      ]),
      guide(user ? join(home, '.gemini', 'GEMINI.md') : join(folder, 'AGENTS.md')),
    ];
  },
};

function started({ gen, options }: Surroundings): { command: string; args: string[] } {
  const [command, ...args] = gen;
  return { command, args: [...args, 'mcp', ...options] };
}

function server(value: object): Entry {
  const isOurs = (found: unknown) => ((found as { args?: string[] })?.args ?? []).includes('mcp');
  return { at: ['mcpServers', SERVER], kind: 'member', value, isOurs };
}

function hook(event: string, group: object, command: object): Entry {
  const value = { ...group, hooks: [{ type: 'command', timeout: HOOK_SECONDS_MAX, ...command }] };
  return { at: ['hooks', event], kind: 'item', value, isOurs: isOurHook };
}

/** By its name, by the file it starts with wherever that lies, or through npx, as it was once written. */
const OUR_HOOK = /^(gen|npx .*gen|.*[\\/]cli[\\/]main\.[jt]s['"]?) hook (renew|handles)\b/;

const isOurHook = (group: unknown): boolean =>
  ((group as { hooks?: { command?: string }[] })?.hooks ?? []).some(({ command = '' }) =>
    OUR_HOOK.test(command),
  );

function hookCommand(client: ClientName, around: Surroundings, verb: 'renew' | 'handles'): string {
  const { platform, gen, options } = around;
  const shell = platform === 'win32' ? WINDOWS_SHELLS[client] : 'posix';
  return shellLine(shell, [...gen, 'hook', verb, ...options]);
}

function codexPart(path: string, around: Surroundings): Part {
  const { command, args } = started(around);
  // A string of JSON is one of TOML.
  const hooked = (event: string, verb: 'renew' | 'handles') => [
    `[[hooks.${event}]]`,
    `[[hooks.${event}.hooks]]`,
    'type = "command"',
    `command = ${JSON.stringify(hookCommand('codex', around, verb))}`,
    `timeout = ${HOOK_SECONDS_MAX}`,
  ];
  return markedPart({
    path,
    about: 'the MCP server and its hooks',
    begin: '# >>> genesis-fleet >>>',
    end: '# <<< genesis-fleet <<<',
    lines: [
      `[mcp_servers.${SERVER}]`,
      `command = ${JSON.stringify(command)}`,
      `args = ${JSON.stringify(args)}`,
      ...(around.has_token ? [`env_vars = ["${TOKEN}"]`] : []),
      '',
      ...hooked('PostToolUse', 'renew'),
      '',
      ...hooked('SessionStart', 'handles'),
    ],
    rival: /\[mcp_servers\.genesis\]/,
  });
}

const guide = (path: string): Part =>
  markedPart({
    path,
    about: 'how to work',
    begin: '<!-- >>> genesis-fleet >>> -->',
    end: '<!-- <<< genesis-fleet <<< -->',
    lines: [
      '## Shared work',
      '',
      'Genesis Fleet hands out the tasks of this project through the MCP server `genesis`; others work beside you.',
      '',
      '- Call `next`, do what its briefing says, and `submit` with the handle it gave. Then call `next` again.',
      '- Keep the handle: `renew`, `note`, `submit` and `release` need it. It is told again when your context is cut.',
      '- Leave a `note` when you learn something that whoever comes after you should know.',
      '- `release` what you cannot finish. When you are told that you lost a task, stop working on it.',
      '- A refusal says what to do in `next`; `explain` says why a task cannot be had.',
    ],
  });
