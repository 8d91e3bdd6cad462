import { execFile, execFileSync } from 'node:child_process';
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { startPlannedHarness } from '../testing/cli-harness.js';
import { type CommandResult, runGen } from '../testing/terminal.js';
import { createProject } from '../testing/workspace.js';
import { VERSION } from '../version.js';
import { CLIENT_SECTIONS, CLIENTS, type ClientName, type SetupEnvironment } from './clients.js';

const run = promisify(execFile);

type Files = Record<string, string>;

/** Existing user files: other indentation, no final newline, other hooks and servers. */
const USER_FILES: Files = {
  'folder/.mcp.json': '{"mcpServers": {"other": {"command": "other", "args": ["a", "b"]}}}',
  'folder/.claude/settings.json': `{
    "permissions": { "allow": ["Bash(ls:*)"] },
    "hooks": { "PostToolUse": [{ "matcher": "Edit", "hooks": [{ "type": "command", "command": "fmt" }] }] }
}
`,
  'folder/AGENTS.md': '# The shop\n\nUse tabs.',
  'folder/.codex/config.toml': 'model = "o"\n\n[mcp_servers.other]\ncommand = "other"\n',
  'folder/.gemini/settings.json': '{\n\t"theme": "dark",\n\t"hooks": {}\n}\n',
  'home/.claude.json': '{"numStartups": 3}\n',
  'home/.codex/config.toml': '',
  'home/.gemini/GEMINI.md': 'Be brief.\n\n',
};

async function createFolders(theirs: Files) {
  const root = await temporaryFolder();
  for (const folder of ['folder', 'home']) await mkdir(join(root, folder));
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };
  for (const [path, text] of Object.entries(theirs)) await write(path, text);
  const env = { HOME: join(root, 'home'), GENESIS_HOME: join(root, 'genesis'), GENESIS_PROJECT: 'shop' };
  const setup = (...argv: string[]): Promise<CommandResult> =>
    runGen({ cwd: join(root, 'folder'), env }, 'setup', ...argv);
  const readFiles = async (): Promise<Files> => {
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files: Files = {};
    for (const entry of entries) {
      const path = relative(root, join(entry.parentPath, entry.name));
      if (path.startsWith('genesis')) continue;
      files[path] = entry.isDirectory() ? 'a folder' : await readFile(join(root, path), 'utf8');
    }
    return files;
  };
  return { setup, readFiles, write };
}

const CASES = ['claude', 'codex', 'gemini'].flatMap((client) =>
  ['project', 'user'].flatMap((scope) => [
    { client, scope, what: 'existing files', theirs: USER_FILES },
    { client, scope, what: 'no files', theirs: {} as Files },
  ]),
);

test.each(CASES)(
  '$client, scope $scope, $what: writes the configuration once, and undo restores every byte',
  async (setupCase) => {
    const { setup, readFiles } = await createFolders(setupCase.theirs);
    const before = await readFiles();
    const argv = [setupCase.client, '--scope', setupCase.scope];
    expect(await setup(...argv)).toMatchObject({ code: 0, err: '' });
    const after = await readFiles();
    expect(after).not.toEqual(before);
    expect(await setup(...argv)).toMatchObject({ code: 0, out: expect.not.stringContaining('wrote') });
    expect(await readFiles()).toEqual(after);
    expect(await setup(...argv, '--undo')).toMatchObject({ code: 0 });
    expect(await readFiles()).toEqual(before);
  },
);

test('adds the server, its hooks and a section for Claude Code to the existing content', async () => {
  const { setup, readFiles } = await createFolders(USER_FILES);
  const { out } = await setup('claude', '--url', 'http://127.0.0.1:9/a?b&c');
  for (const path of ['.mcp.json', '.claude/settings.json', 'AGENTS.md']) expect(out).toContain(path);
  const after = await readFiles();
  const options = ['--url', 'http://127.0.0.1:9/a?b&c', '--tenant', 'default', '--project', 'shop'];
  expect(JSON.parse(after['folder/.mcp.json'] ?? '')).toEqual({
    mcpServers: {
      other: { command: 'other', args: ['a', 'b'] },
      genesis: {
        type: 'stdio',
        command: expect.any(String),
        args: expect.arrayContaining(['mcp', ...options]),
      },
    },
  });
  const { hooks, permissions } = JSON.parse(after['folder/.claude/settings.json'] ?? '');
  expect(permissions).toEqual({ allow: ['Bash(ls:*)', 'mcp__genesis__*'] });
  expect(hooks.PostToolUse).toHaveLength(2);
  expect(hooks.PostToolUse[1].hooks[0].command).toMatch(
    /main\.js hook renew --url 'http:\/\/127.0.0.1:9\/a\?b&c' --tenant default --project shop$/,
  );
  expect(hooks.SessionStart[0].hooks[0].command).toContain('main.js hook handles');
  expect(after['folder/AGENTS.md']).toMatch(/^# The shop\n\nUse tabs\.\n\n<!-- >>> genesis-fleet/);
});

test('writes commands for Claude Code that start this program from any folder and with an empty PATH', async () => {
  const { setup, readFiles } = await createFolders({});
  await setup('claude');
  const after = await readFiles();
  const { command, args } = JSON.parse(after['folder/.mcp.json'] ?? '').mcpServers.genesis;
  const elsewhere = { cwd: await temporaryFolder(), env: {} };
  const beforeMcp = args.slice(0, args.indexOf('mcp'));
  const versionRun = await run(command, [...beforeMcp, '--version'], elsewhere);
  expect(versionRun.stdout).toBe(`${VERSION}\n`);
  const { hooks } = JSON.parse(after['folder/.claude/settings.json'] ?? '');
  for (const [{ hooks: commands }] of [hooks.PostToolUse, hooks.SessionStart]) {
    const reply = execFileSync('/bin/sh', ['-c', commands[0].command], { ...elsewhere, input: '{}' });
    expect(String(reply)).toBe('{}\n');
  }
});

test.each(CLIENTS)('writes no command for %s that downloads from a registry', async (client) => {
  const { setup, readFiles } = await createFolders({});
  await setup(client);
  expect(JSON.stringify(await readFiles())).not.toMatch(/\bnpx\b/);
});

/** Hook commands as earlier versions, other installations, and Windows wrote them. */
const SPELLINGS = [
  'gen hook renew --project shop',
  'npx -y -p genesis-fleet gen hook renew --project shop',
  '/opt/node /opt/fleet/dist/cli/main.js hook renew --project shop',
  "/opt/node --import file:///opt/tsx.mjs '/opt/the fleet/src/cli/main.ts' hook renew --project shop",
  "& 'C:\\Program Files\\node.exe' 'C:\\fleet\\dist\\cli\\main.js' hook renew --project shop",
];
const THEIR_HOOK = { hooks: [{ type: 'command', command: 'other hook renew' }] };

test.each(SPELLINGS)('replaces the hook %s on the next setup, and removes it on undo', async (spelling) => {
  const events = { claude: 'PostToolUse', gemini: 'AfterTool' } as const;
  for (const [client, event] of Object.entries(events)) {
    const path = `folder/.${client}/settings.json`;
    const old = { hooks: [{ type: 'command', command: spelling }] };
    const { setup, readFiles } = await createFolders({
      [path]: JSON.stringify({ hooks: { [event]: [THEIR_HOOK, old] } }),
    });
    const readHooks = async () => JSON.parse((await readFiles())[path] ?? '').hooks[event];
    expect(await setup(client)).toMatchObject({ code: 0 });
    expect(await readHooks()).toEqual([THEIR_HOOK, expect.not.objectContaining(old)]);
    expect(await setup(client, '--undo')).toMatchObject({ code: 0 });
    expect(await readHooks()).toEqual([THEIR_HOOK]);
  }
});

const WINDOWS: SetupEnvironment = {
  scope: 'project',
  folder: '/work',
  home: '/home',
  codex_home: '/home/.codex',
  platform: 'win32',
  gen: ['C:\\Program Files\\node.exe', "C:\\Ann O'Neil\\cli\\main.js"],
  options: ['--url', 'http://[::1]:4680/?a&b', '--project', 'shop'],
  has_token: false,
};

/** What setup writes for a client into the file of that name. */
const insertedText = (client: ClientName, name: string): string =>
  CLIENT_SECTIONS[client](WINDOWS)
    .find(({ path }) => path.endsWith(name))
    ?.insert(null) ?? '';

test('on Windows, quotes a hook for the shell that its client runs it in', () => {
  const claude = JSON.parse(insertedText('claude', 'settings.json')).hooks.SessionStart[0].hooks[0].command;
  const gemini = JSON.parse(insertedText('gemini', 'settings.json')).hooks.SessionStart[0].hooks[0].command;
  const lines = insertedText('codex', 'config.toml').split('\n');
  const codex = lines.find((line) => line.includes('handles'))?.replace('command = ', '') ?? '';
  const url = 'http://[::1]:4680/?a&b';
  expect([claude, JSON.parse(codex), gemini]).toEqual([
    `'C:\\Program Files\\node.exe' 'C:\\Ann O'\\''Neil\\cli\\main.js' hook handles --url '${url}' --project shop`,
    `"C:\\Program Files\\node.exe" "C:\\Ann O'Neil\\cli\\main.js" hook handles --url "${url}" --project shop`,
    `& 'C:\\Program Files\\node.exe' 'C:\\Ann O''Neil\\cli\\main.js' hook handles --url '${url}' --project shop`,
  ]);
});

test.each(CLIENTS)('on Windows, writes the path of the MCP server for %s unchanged', (client) => {
  const name = { claude: '.mcp.json', codex: 'config.toml', gemini: 'settings.json' }[client];
  const text = insertedText(client, name);
  const [, command = ''] = /"?command"? ?[=:] (".*?")/.exec(text) ?? [];
  expect(JSON.parse(command)).toBe('C:\\Program Files\\node.exe');
  expect(text).toContain(JSON.stringify("C:\\Ann O'Neil\\cli\\main.js"));
});

test('undo keeps later changes by the user and removes only its own part', async () => {
  const { setup, readFiles, write } = await createFolders({});
  await setup('claude');
  await setup('codex');
  const after = await readFiles();
  const settings = JSON.parse(after['folder/.claude/settings.json'] ?? '');
  await write('folder/.claude/settings.json', JSON.stringify({ ...settings, model: 'opus' }));
  await write('folder/.codex/config.toml', `model = "o"\n${after['folder/.codex/config.toml']}`);
  const undone = await setup('claude', '--undo', '--json');
  expect(JSON.parse(undone.out).changes).toEqual([
    { change: 'removed', path: '.mcp.json' },
    { change: 'section_removed', path: join('.claude', 'settings.json') },
    { change: 'removed', path: 'CLAUDE.md' },
    { change: 'unchanged', path: 'AGENTS.md' },
  ]);
  expect(JSON.parse((await readFiles())['folder/.claude/settings.json'] ?? '')).toEqual({ model: 'opus' });
  // Codex still uses AGENTS.md.
  expect((await readFiles())['folder/AGENTS.md']).toBe(after['folder/AGENTS.md']);
  await setup('codex', '--undo');
  expect(await readFiles()).toMatchObject({ 'folder/.codex/config.toml': 'model = "o"\n' });
  expect(await readFiles()).not.toHaveProperty(['folder/AGENTS.md']);
});

test.each([
  ['a file that is not valid JSON', { 'folder/.mcp.json': '{ mine\n}' }, 'is not a JSON object'],
  [
    'a server of the same name',
    { 'folder/.mcp.json': '{"mcpServers":{"genesis":{"url":"x"}}}' },
    'already has another',
  ],
  [
    'hooks that are not a list',
    { 'folder/.claude/settings.json': '{"hooks":{"PostToolUse":1}}' },
    'unexpected value',
  ],
])('refuses to change %s, and names the reason', async (_what, theirs, says) => {
  const { setup, readFiles } = await createFolders(theirs as Files);
  const before = await readFiles();
  expect(await setup('claude')).toMatchObject({ code: 1, err: expect.stringContaining(says) });
  expect(await readFiles()).toEqual(before);
});

test('refuses a setup without a project and writes nothing', async () => {
  const { readFiles } = await createFolders({});
  const cwd = await temporaryFolder();
  const ran = await runGen({ cwd, env: { HOME: cwd } }, 'setup', 'claude');
  expect(ran).toMatchObject({ code: 2, err: expect.stringContaining('--project') });
  expect(Object.keys(await readFiles())).toEqual(['folder', 'home']);
});

test('writes the guide where each client reads it, and the permissions for a run without a terminal', async () => {
  const { setup, readFiles } = await createFolders({});
  for (const client of CLIENTS) expect(await setup(client)).toMatchObject({ code: 0, err: '' });
  const after = await readFiles();
  for (const name of ['CLAUDE.md', 'GEMINI.md', 'AGENTS.md'])
    expect(after[`folder/${name}`], name).toContain('## Shared work');
  expect(JSON.parse(after['folder/.claude/settings.json'] ?? '')).toMatchObject({
    permissions: { allow: ['mcp__genesis__*'] },
    enabledMcpjsonServers: ['genesis'],
  });
  expect(JSON.parse(after['folder/.gemini/settings.json'] ?? '')).toMatchObject({
    mcpServers: { genesis: { trust: true } },
  });
  expect(after['folder/.codex/config.toml']).toMatch(
    /\[mcp_servers\.genesis\]\n(?:.+\n)*default_tools_approval_mode = "approve"\n/,
  );
});

const COMMENTED = `// How we work
{
    "permissions": {
        "allow": [
            "Bash(ls:*)", // harmless
        ],
    },
    /* model */ "model": "opus"
    // the end
}
`;

test('keeps the comments and the layout of the settings, also after later changes by the user', async () => {
  const path = 'folder/.claude/settings.json';
  const { setup, readFiles, write } = await createFolders({ [path]: COMMENTED });
  expect(await setup('claude')).toMatchObject({ code: 0, err: '' });
  const after = (await readFiles())[path] ?? '';
  const lines = after.split('\n').map((line) => line.trim());
  for (const comment of ['// How we work', '"Bash(ls:*)", // harmless', '// the end'])
    expect(lines).toContain(comment);
  expect(after).toContain('/* model */ "model": "opus"');
  const strict = after.replaceAll(/ \/\/.*$|^\/\/.*$|\/\*.*?\*\//gm, '').replaceAll(/,(?=\s*[\]}])/g, '');
  expect(JSON.parse(strict)).toMatchObject({
    permissions: { allow: ['Bash(ls:*)', 'mcp__genesis__*'] },
    model: 'opus',
    hooks: { PostToolUse: [{}], SessionStart: [{}] },
  });
  await write(path, after.replace('"opus"', '"haiku"'));
  expect(await setup('claude')).toMatchObject({ code: 0, out: expect.stringContaining('unchanged .claude') });
  expect(await setup('claude', '--undo')).toMatchObject({ code: 0 });
  expect((await readFiles())[path]).toBe(COMMENTED.replace('"opus"\n', '"haiku"\n'));
});

test.each(CLIENTS)('prints the command that undoes the setup of %s for the user', async (client) => {
  const { setup, readFiles } = await createFolders(USER_FILES);
  const before = await readFiles();
  const { out } = await setup(client, '--scope', 'user');
  const [, command = ''] = /To undo: gen setup (.*)/.exec(out) ?? [];
  expect(await setup(...command.split(' '))).toMatchObject({ code: 0 });
  expect(await readFiles()).toEqual(before);
});

test('in a workspace, connects to its log, or to the server that --url names', async () => {
  const { cwd } = await createProject();
  const env = { HOME: cwd, GENESIS_HOME: join(cwd, 'genesis') };
  const serverArguments = async () =>
    JSON.parse(await readFile(join(cwd, '.mcp.json'), 'utf8')).mcpServers.genesis.args.join(' ');
  const written = await runGen({ cwd, env }, 'setup', 'claude');
  expect(written).toMatchObject({ code: 0, out: expect.stringContaining('the log of this workspace') });
  expect(await serverArguments()).not.toContain('--url');
  await runGen({ cwd, env }, 'setup', 'claude', '--url', 'http://127.0.0.1:9');
  expect(await serverArguments()).toContain('--url http://127.0.0.1:9');
});

test.each(CLIENTS)('--check connects as %s does, and says what is missing', async (client) => {
  const { terminal, server } = await startPlannedHarness();
  const env = { HOME: terminal.cwd, GENESIS_HOME: join(terminal.cwd, 'genesis') };
  const check = () => runGen({ ...terminal, env }, 'setup', client, '--check');
  const before = await check();
  expect(before).toMatchObject({ code: 1, out: expect.stringContaining('no MCP server is configured') });
  expect(before.out).toContain(`gen setup ${client}`);
  await runGen({ ...terminal, env }, 'setup', client, '--url', server.url, '--project', 'shop');
  const untrusted = await check();
  expect(untrusted.code).toBe(1);
  expect(untrusted.out).toMatch(/^failed {2}trust: .* does not trust this folder yet: start \w+ here once/m);
  expect(untrusted.out).not.toContain('Write what is missing');
  await trustFolder(client, terminal.cwd);
  const complete = await check();
  expect(complete).toMatchObject({ code: 0, out: expect.stringMatching(/handshake: \d+ tools from/) });
  expect(complete.out).not.toMatch(/missing|failed/);
  await rm(join(terminal.cwd, 'AGENTS.md'));
  await server.stop();
  const broken = await check();
  expect(broken.code).toBe(1);
  expect(broken.out).toMatch(/^missing AGENTS\.md/m);
  expect(broken.out).toMatch(/^failed {2}status: .*127\.0\.0\.1/m);
});

/**
 * Records that the user trusts the parent of the project's folder, as the client does at its first start there. The
 * project's folder is also the user's home folder, which holds the client's records.
 */
async function trustFolder(client: ClientName, projectFolder: string): Promise<void> {
  const parent = dirname(projectFolder);
  const texts = {
    claude: ['.claude.json', JSON.stringify({ projects: { [parent]: { hasTrustDialogAccepted: true } } })],
    codex: ['.codex/config.toml', `[projects."/other"]\n\n[projects."${parent}"]\ntrust_level = "trusted"\n`],
    gemini: ['.gemini/trustedFolders.json', JSON.stringify({ [parent]: 'TRUST_FOLDER' })],
  } as const;
  const [name, text] = texts[client];
  await appendFile(join(projectFolder, name), text);
}

test('--check connects to a server that is configured by its URL, and names a command that does not start', async () => {
  const { terminal, server } = await startPlannedHarness();
  const env = { HOME: terminal.cwd };
  const configure = (genesis: object) =>
    writeFile(join(terminal.cwd, '.mcp.json'), JSON.stringify({ mcpServers: { genesis } }));
  const check = async () => (await runGen({ ...terminal, env }, 'setup', 'claude', '--check')).out;
  await configure({ type: 'http', url: `${server.url}/mcp/default/shop` });
  expect(await check()).toMatch(/handshake: \d+ tools from http:.*\n.*status: the project can be read/);
  await configure({ type: 'http', url: 'http://127.0.0.1:1/mcp' });
  expect(await check()).toMatch(/failed .*127\.0\.0\.1:1\/mcp cannot be reached/);
  await configure({ command: '/no/such/program', args: ['mcp'] });
  expect(await check()).toContain('/no/such/program cannot be started');
  await configure({
    command: process.execPath,
    args: ['-e', 'console.error("no licence"); process.exit(3)'],
  });
  expect(await check()).toMatch(/exit code 3: no licence/);
});
