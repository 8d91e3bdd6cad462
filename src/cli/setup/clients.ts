import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HookName } from '../hook/run-hook.js';
import type { ConfigSection } from './apply.js';
import { type JsonEntry, jsonSection } from './json-section.js';
import { markedSection } from './marked-section.js';
import { type HookShell, shellLine } from './shell-line.js';

export const CLIENTS = ['claude', 'codex', 'gemini'] as const;
export type ClientName = (typeof CLIENTS)[number];
export const SCOPES = ['project', 'user'] as const;
export type Scope = (typeof SCOPES)[number];

export interface SetupEnvironment {
  readonly scope: Scope;
  /** The project's folder. */
  readonly folder: string;
  readonly home: string;
  readonly codex_home: string;
  readonly platform: NodeJS.Platform;
  /** The command that starts this program, and the options that select the server and the project. */
  readonly gen: readonly [string, ...string[]];
  readonly options: readonly string[];
  /** Whether a token is in the environment. The configuration refers to its variable and never contains the token. */
  readonly has_token: boolean;
}

export const MCP_SERVER_NAME = 'genesis';
const HOOK_SECONDS_MAX = 15;
const TOKEN_VARIABLE = 'GENESIS_TOKEN';
/** The shell that runs a client's hooks on Windows. Claude Code uses Git Bash. */
const WINDOWS_SHELLS: Readonly<Record<ClientName, HookShell>> = {
  claude: 'posix',
  codex: 'cmd',
  gemini: 'powershell',
};

/** The configuration that each client needs, by the files from which the client reads it. */
export const CLIENT_SECTIONS: Readonly<
  Record<ClientName, (environment: SetupEnvironment) => readonly ConfigSection[]>
> = {
  claude: (environment) => {
    const { scope, folder, home } = environment;
    const isUserScope = scope === 'user';
    const settings = join(isUserScope ? home : folder, '.claude', 'settings.json');
    return [
      jsonSection(isUserScope ? join(home, '.claude.json') : join(folder, '.mcp.json'), 'the MCP server', [
        mcpServerEntry({ type: 'stdio', ...mcpCommand(environment) }),
      ]),
      jsonSection(settings, 'hooks that renew claims and restore handles, and permission for its tools', [
        hookEntry('PostToolUse', { matcher: '*' }, { command: hookCommand('claude', environment, 'renew') }),
        hookEntry('SessionStart', {}, { command: hookCommand('claude', environment, 'handles') }),
        // A run without a terminal stops at the first question about permission.
        itemEntry(['permissions', 'allow'], `mcp__${MCP_SERVER_NAME}__*`),
        ...(isUserScope ? [] : [itemEntry(['enabledMcpjsonServers'], MCP_SERVER_NAME)]),
      ]),
      guideSection(isUserScope ? join(home, '.claude', 'CLAUDE.md') : join(folder, 'CLAUDE.md')),
      ...(isUserScope ? [] : [guideSection(join(folder, 'AGENTS.md'))]),
    ];
  },
  codex: (environment) => {
    const root = environment.scope === 'user' ? environment.codex_home : join(environment.folder, '.codex');
    return [
      codexSection(join(root, 'config.toml'), environment),
      guideSection(join(environment.scope === 'user' ? root : environment.folder, 'AGENTS.md')),
    ];
  },
  gemini: (environment) => {
    const { scope, folder, home } = environment;
    const isUserScope = scope === 'user';
    const env = environment.has_token ? { env: { [TOKEN_VARIABLE]: `$${TOKEN_VARIABLE}` } } : {};
    const geminiHook = (name: HookName) => ({
      name: `genesis-${name}`,
      command: hookCommand('gemini', environment, name),
      timeout: HOOK_SECONDS_MAX * 1000,
    });
    return [
      jsonSection(
        join(isUserScope ? home : folder, '.gemini', 'settings.json'),
        'the MCP server and its hooks',
        [
          // Trusted, because a run without a terminal cannot confirm the call of a tool.
          mcpServerEntry({ ...mcpCommand(environment), ...env, trust: true }),
          hookEntry('AfterTool', { matcher: '.*' }, geminiHook('renew')),
          hookEntry('SessionStart', {}, geminiHook('handles')),
          hookEntry('PreCompress', {}, geminiHook('handles')),
        ],
      ),
      guideSection(isUserScope ? join(home, '.gemini', 'GEMINI.md') : join(folder, 'GEMINI.md')),
      ...(isUserScope ? [] : [guideSection(join(folder, 'AGENTS.md'))]),
    ];
  },
};

function mcpCommand({ gen, options }: SetupEnvironment): { command: string; args: string[] } {
  const [command, ...args] = gen;
  return { command, args: [...args, 'mcp', ...options] };
}

function mcpServerEntry(value: object): JsonEntry {
  const isOurs = (entry: unknown) => ((entry as { args?: string[] })?.args ?? []).includes('mcp');
  return { keyPath: ['mcpServers', MCP_SERVER_NAME], kind: 'member', value, isOurs };
}

const itemEntry = (keyPath: JsonEntry['keyPath'], value: string): JsonEntry => ({
  keyPath,
  kind: 'item',
  value,
  isOurs: (item) => item === value,
});

function hookEntry(event: string, group: object, command: object): JsonEntry {
  const value = { ...group, hooks: [{ type: 'command', timeout: HOOK_SECONDS_MAX, ...command }] };
  return { keyPath: ['hooks', event], kind: 'item', value, isOurs: isOurHook };
}

/** Matches a hook by the name `gen`, by the path of its entry file, or by the `npx` form of earlier versions. */
const OUR_HOOK = /^(gen|npx .*gen|.*[\\/]cli[\\/]main\.[jt]s['"]?) hook (renew|handles)\b/;

const isOurHook = (group: unknown): boolean =>
  ((group as { hooks?: { command?: string }[] })?.hooks ?? []).some(({ command = '' }) =>
    OUR_HOOK.test(command),
  );

function hookCommand(client: ClientName, environment: SetupEnvironment, name: HookName): string {
  const { platform, gen, options } = environment;
  const shell = platform === 'win32' ? WINDOWS_SHELLS[client] : 'posix';
  return shellLine(shell, [...gen, 'hook', name, ...options]);
}

function codexSection(path: string, environment: SetupEnvironment): ConfigSection {
  const { command, args } = mcpCommand(environment);
  // JSON string syntax is valid TOML.
  const hookLines = (event: string, name: HookName) => [
    `[[hooks.${event}]]`,
    `[[hooks.${event}.hooks]]`,
    'type = "command"',
    `command = ${JSON.stringify(hookCommand('codex', environment, name))}`,
    `timeout = ${HOOK_SECONDS_MAX}`,
  ];
  return markedSection({
    path,
    about: 'the MCP server and its hooks',
    begin: '# >>> genesis-fleet >>>',
    end: '# <<< genesis-fleet <<<',
    lines: [
      `[mcp_servers.${MCP_SERVER_NAME}]`,
      `command = ${JSON.stringify(command)}`,
      `args = ${JSON.stringify(args)}`,
      'default_tools_approval_mode = "approve"',
      ...(environment.has_token ? [`env_vars = ["${TOKEN_VARIABLE}"]`] : []),
      '',
      ...hookLines('PostToolUse', 'renew'),
      '',
      ...hookLines('SessionStart', 'handles'),
    ],
    conflict: /\[mcp_servers\.genesis\]/,
  });
}

const guideSection = (path: string): ConfigSection =>
  markedSection({
    path,
    about: 'instructions for the agent',
    begin: '<!-- >>> genesis-fleet >>> -->',
    end: '<!-- <<< genesis-fleet <<< -->',
    lines: readFileSync(new URL('./guide.md', import.meta.url), 'utf8')
      .trimEnd()
      .split('\n'),
  });
