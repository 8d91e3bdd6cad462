import type { ApiClientOptions, Genesis } from '../client/index.js';
import { workerName } from '../client/worker-name.js';
import type { ProjectKey } from '../stores/store.js';
import type { ServerAddress } from '../workspace/address.js';
import { Workspace } from '../workspace/workspace.js';
import { type ExitCode, workspaceMissing, wrongUsage } from './exit.js';
import { explicitAgent, terminalName, userAgent } from './identity.js';
import type { Io } from './io.js';
import type { OptionsOf } from './option-table.js';
import { type Paint, paintFor } from './output/paint.js';
import { type Column, table } from './output/table.js';
import { singleLine } from './output/text.js';
import { labelledLines, wrapLines } from './output/wrap.js';
import { cliFolder } from './state/cli-folder.js';
import { CliState, type CliTarget } from './state/cli-state.js';
import { openSigningKey } from './state/signing-key.js';
import type { CommandServer } from './workspace/command-server.js';

export const GLOBAL_OPTIONS = {
  '--json': 'print only the JSON of the HTTP API on standard output',
  '--url <url>': 'server (GENESIS_URL; default: that of the workspace, else http://127.0.0.1:4680)',
  '--tenant <id>': 'tenant (GENESIS_TENANT; default: that of the workspace, else default)',
  '--project <id>':
    'project (GENESIS_PROJECT; default: that of the workspace, else of the last plan imported here)',
  '--agent <id>':
    'agent id of the caller (GENESIS_AGENT; default: the agent of a single-agent workspace, else the user; for a worker, its program and a short id)',
  '--session <id>':
    'session (GENESIS_SESSION; default: one per agent and terminal; in a single-agent workspace one for all terminals)',
} as const;
export type GlobalOptions = OptionsOf<typeof GLOBAL_OPTIONS>;

const DEFAULT_URL = 'http://127.0.0.1:4680';
/** How long requests are retried: short, because a person waits, but long enough for a server restart. */
const RETRY_POLICY = { tries: 4, within_seconds: 10 };

const optionsOf = (io: Io, target: CliTarget, token: string | null): ApiClientOptions => ({
  ...target,
  find_signing_key: () => openSigningKey(io),
  ...(token === null ? {} : { token }),
  retry: RETRY_POLICY,
});

function assertServerUrl(url: string): void {
  if (/^https?:/i.test(url) && URL.canParse(url)) return;
  const example = 'http://127.0.0.1:4680 or https://fleet.example.com';
  throw wrongUsage(
    `${JSON.stringify(url)} is not the URL of a server. Set --url or GENESIS_URL to one, such as ${example}.`,
  );
}

/** The environment of a command: identity, server address, stored CLI state, and output. */
export class CommandContext {
  readonly paint: Paint;
  readonly is_json: boolean;
  /**
   * This and the next four fields: the value of the option, else of the environment variable; null if it is empty or neither
   * is set. The token has no option.
   */
  readonly explicitProject: string | null;
  readonly explicitSession: string | null;
  private readonly uncheckedUrl: string | null;
  private readonly explicitTenant: string | null;
  private readonly explicitToken: string | null;
  readonly tenant: string;
  exit_code: ExitCode = 0;
  private cliState: CliState | null = null;
  private commandServer: Promise<CommandServer> | null = null;
  private soleAgentPromise: Promise<string | null> | null = null;

  constructor(
    readonly io: Io,
    private readonly options: GlobalOptions,
  ) {
    const optionOrEnv = (option: string | undefined, variable: string): string | null =>
      (option ?? io.env[variable]) || null;
    this.paint = paintFor(io);
    this.is_json = options.json === true;
    this.uncheckedUrl = optionOrEnv(options.url, 'GENESIS_URL');
    this.explicitProject = optionOrEnv(options.project, 'GENESIS_PROJECT');
    this.explicitSession = optionOrEnv(options.session, 'GENESIS_SESSION');
    this.explicitTenant = optionOrEnv(options.tenant, 'GENESIS_TENANT');
    this.explicitToken = optionOrEnv(undefined, 'GENESIS_TOKEN');
    this.tenant = this.explicitTenant ?? 'default';
  }

  /** The server from `--url` or `GENESIS_URL`; null if neither is set. Throws if it is not the URL of a server. */
  get explicitUrl(): string | null {
    if (this.uncheckedUrl !== null) assertServerUrl(this.uncheckedUrl);
    return this.uncheckedUrl;
  }

  get url(): string {
    return this.explicitUrl ?? DEFAULT_URL;
  }

  /** What the CLI stores in its own folder. Found at first use: a command that does not need the folder must work anywhere. */
  get state(): CliState {
    this.cliState ??= new CliState(cliFolder(this.io));
    return this.cliState;
  }

  /** The options that a later command about the same work must repeat, with a space before them. */
  repeatedOptions(): string {
    const { url, tenant, project, agent, session } = this.options;
    const given = Object.entries({ url, tenant, project, agent, session });
    return given.flatMap(([name, value]) => (value === undefined ? [] : ` --${name} ${value}`)).join('');
  }

  /** The calling agent: the one given explicitly, else the workspace's sole agent, else the user. */
  async agent(): Promise<string> {
    return (await this.fixedAgent()) ?? userAgent(this.io);
  }

  /** The agent name of a worker: as `fixedAgent`, else the name of its program with a short id. */
  async workerAgent(program: string): Promise<string> {
    return (await this.fixedAgent()) ?? workerName(program);
  }

  /** The agent given explicitly, else the workspace's sole agent. Null if there is neither: the caller then chooses a name. */
  async fixedAgent(): Promise<string | null> {
    return explicitAgent(this.io, this.options.agent) ?? this.soleAgent();
  }

  /** The agent of a single-agent workspace; null without a workspace, or if several agents may work in it. */
  private soleAgent(): Promise<string | null> {
    const workspace = Workspace.findOwn(this.io.cwd, this.io.env);
    if (workspace === null) return Promise.resolve(null);
    // Ignore unreadable files here: the commands that need them report the error.
    this.soleAgentPromise ??= import('../workspace/mode.js')
      .then(({ soleAgent }) => soleAgent(workspace))
      .catch(() => null);
    return this.soleAgentPromise;
  }

  /** The workspace, for commands that need its files. */
  requireWorkspace(): Workspace {
    const workspace = Workspace.find(this.io.cwd);
    if (workspace === null) throw workspaceMissing(this.io.cwd);
    return workspace;
  }

  async target(): Promise<CliTarget> {
    const { url } = this;
    const workspaceProject = await this.workspaceProject();
    const tenant = this.explicitTenant ?? workspaceProject?.tenant_id ?? this.tenant;
    const project =
      this.explicitProject ?? workspaceProject?.project_id ?? (await this.state.project(url, tenant));
    if (project === null) {
      throw wrongUsage(
        `No project is set. Pass --project NAME, set GENESIS_PROJECT, or import a plan from this folder first. ${await this.knownProjects(tenant)}`.trimEnd(),
      );
    }
    return { url, tenant, project };
  }

  /** The projects of the tenant, as text for a refusal. One short attempt: the refusal must not wait for a slow server. */
  private async knownProjects(tenant: string): Promise<string> {
    const { Genesis } = await import('../client/index.js');
    const { knownProjectsText } = await import('./known-projects.js');
    const options = optionsOf(this.io, { url: this.url, tenant, project: 'default' }, this.explicitToken);
    return knownProjectsText(new Genesis({ ...options, retry: { tries: 1 }, timeout_seconds: 2 }));
  }

  /** The project of the workspace that contains the current folder; null without a workspace of this user. */
  private async workspaceProject(): Promise<ProjectKey | null> {
    const workspace = Workspace.findOwn(this.io.cwd, this.io.env);
    if (workspace === null) return null;
    const { readProjectKey } = await import('../workspace/project-file.js');
    // Ignore a missing project name here: the commands that need it report the error.
    return readProjectKey(workspace).catch(() => null);
  }

  /** The session given explicitly, else the stored session of this agent. */
  async session(): Promise<string> {
    return this.explicitSession ?? this.state.session(...(await this.sessionKey()));
  }

  async removeSession(): Promise<void> {
    await this.state.removeSession(...(await this.sessionKey()));
  }

  /** A sole agent has one session for all terminals. */
  private async sessionKey(): Promise<[target: CliTarget, agentId: string, terminal: string]> {
    const agentId = await this.agent();
    const terminal = agentId === (await this.soleAgent()) ? '' : terminalName(this.io);
    return [await this.target(), agentId, terminal];
  }

  /** Whether a token is set (GENESIS_TOKEN). */
  get hasCredential(): boolean {
    return this.explicitToken !== null;
  }

  /** Opens a client. Its module is loaded only now, because commands on a workspace's own files do not need it. */
  async genesisAt(target: CliTarget, token = this.explicitToken): Promise<Genesis> {
    const { Genesis } = await import('../client/index.js');
    return new Genesis(optionsOf(this.io, target, token));
  }

  async genesis(): Promise<Genesis> {
    const { url, token } = await this.server();
    return this.genesisAt({ ...(await this.target()), url }, token);
  }

  async clientOptions(): Promise<ApiClientOptions> {
    const { url, token } = await this.server();
    return optionsOf(this.io, { ...(await this.target()), url }, token);
  }

  /** A client for calls that concern the whole tenant. */
  async genesisForTenant(): Promise<Genesis> {
    const { tenant, explicitProject } = this;
    const { url, token } = await this.server();
    return this.genesisAt({ url, tenant, project: explicitProject ?? 'default' }, token);
  }

  /**
   * The server to call, and its token. Without an explicit URL, a workspace uses its own server, which this command
   * may have to start. A server that has a token of its own gets that token, and never the one in GENESIS_TOKEN.
   */
  async server(): Promise<ServerAddress> {
    const workspace = this.explicitUrl === null ? Workspace.find(this.io.cwd) : null;
    if (workspace === null) return { url: this.url, token: this.explicitToken };
    this.commandServer ??= import('./workspace/command-server.js').then(({ startCommandServer }) =>
      startCommandServer(this.warn, workspace),
    );
    const { url, token } = await this.commandServer;
    return { url, token: token ?? this.explicitToken };
  }

  /** Stops the server that this command started, if any. */
  async close(): Promise<void> {
    await (await this.commandServer?.catch(() => null))?.stop();
  }

  /** Stops the server that this command started, if any; the next call looks for a server again. */
  async leaveServer(): Promise<void> {
    await this.close();
    this.commandServer = null;
  }

  print(text: string): void {
    this.io.stdout.write(`${text}\n`);
  }

  printJson(value: unknown): void {
    this.print(JSON.stringify(value));
  }

  /** Prints the reply as JSON (`--json`) or as text. */
  printReply<T>(reply: T, renderText: (reply: T) => string | readonly string[]): void {
    if (this.is_json) this.printJson(reply);
    else this.print([renderText(reply)].flat().join('\n'));
  }

  /** Layout for the width of standard output. */
  readonly wrap = (text: string, indent: number): string[] => wrapLines(text, indent, this.io.columns);
  readonly labelled = (name: string, text: string, nameWidth: number): string[] =>
    labelledLines(name, text, nameWidth, this.io.columns);
  readonly table = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string =>
    table(rows, columns, this.io.columns);

  /** Prints to standard error, so that it does not mix with the output. */
  printNotice(text: string): void {
    this.io.stderr.write(`${text}\n`);
  }

  /** Prints a sentence, which may contain text from elsewhere, as one notice. */
  readonly warn = (sentence: string): void => this.printNotice(singleLine(sentence));

  warnAll(sentences: readonly string[]): void {
    sentences.forEach(this.warn);
  }
}
