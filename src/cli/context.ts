import type { Genesis } from '../client/index.js';
import type { ProjectKey } from '../stores/store.js';
import type { ServerAddress } from '../workspace/address.js';
import { Workspace } from '../workspace/workspace.js';
import { type ExitCode, wrongUsage } from './exit.js';
import { namedAgent, terminalName, userAgent } from './identity.js';
import type { Io } from './io.js';
import { homeFolder } from './memory/home-folder.js';
import { Memory, type Place } from './memory/memory.js';
import { type Paint, paintFor } from './output/paint.js';
import type { ServedHere } from './workspace/serve-here.js';

/** The options that every command takes. */
export interface GlobalOptions {
  readonly json?: true;
  readonly url?: string;
  readonly tenant?: string;
  readonly project?: string;
  readonly agent?: string;
  readonly session?: string;
}

const DEFAULT_URL = 'http://127.0.0.1:4680';
/** A person waits for the answer: long enough for a server that restarts, not longer. */
const PATIENCE = { tries: 4, within_seconds: 10 };

/** What a command works with: who calls, where the server is, what is remembered, and where to write. */
export class Context {
  readonly paint: Paint;
  readonly memory: Memory;
  readonly is_json: boolean;
  exit_code: ExitCode = 0;
  private here: Promise<ServedHere> | null = null;
  private alone: Promise<string | null> | null = null;

  constructor(
    readonly io: Io,
    private readonly options: GlobalOptions,
  ) {
    this.paint = paintFor(io);
    this.memory = new Memory(homeFolder(io));
    this.is_json = options.json === true;
  }

  get url(): string {
    return this.named_url ?? DEFAULT_URL;
  }

  /** The server that was named; null: nobody did. */
  get named_url(): string | null {
    return this.setting(this.options.url, 'GENESIS_URL');
  }

  get tenant(): string {
    return this.setting(this.options.tenant, 'GENESIS_TENANT') ?? 'default';
  }

  /** Who calls: whoever was named, the one agent of a workspace that has only one, or the user at this machine. */
  async agent(): Promise<string> {
    return namedAgent(this.io, this.options.agent) ?? (await this.sole()) ?? userAgent(this.io);
  }

  /** The agent that has this workspace to itself; null: several may work here. */
  private sole(): Promise<string | null> {
    const workspace = Workspace.find(this.io.cwd);
    if (workspace === null) return Promise.resolve(null);
    // Files that cannot be read are found out by the commands that need them.
    this.alone ??= import('../workspace/load.js')
      .then(({ soleAgent }) => soleAgent(workspace))
      .catch(() => null);
    return this.alone;
  }

  /** The project that was named; null: nobody did. */
  get named_project(): string | null {
    return this.setting(this.options.project, 'GENESIS_PROJECT');
  }

  /** The session that was named; null: nobody did. */
  get named_session(): string | null {
    return this.setting(this.options.session, 'GENESIS_SESSION');
  }

  async place(): Promise<Place> {
    const { url } = this;
    const here = await this.projectHere();
    const tenant = this.setting(this.options.tenant, 'GENESIS_TENANT') ?? here?.tenant_id ?? this.tenant;
    const project = this.named_project ?? here?.project_id ?? (await this.memory.project(url, tenant));
    if (project === null) {
      throw wrongUsage(
        'Which project? Say --project NAME, set GENESIS_PROJECT, or import a plan from here first.',
      );
    }
    return { url, tenant, project };
  }

  /** The project whose workspace this is. */
  private async projectHere(): Promise<ProjectKey | null> {
    const workspace = Workspace.find(this.io.cwd);
    if (workspace === null) return null;
    const { readProjectKey } = await import('../workspace/project-file.js');
    // One without a name is found out by the commands that need it.
    return readProjectKey(workspace).catch(() => null);
  }

  /** The session of this agent at this terminal, or the one that was named. */
  async session(): Promise<string> {
    if (this.named_session !== null) return this.named_session;
    const agent_id = await this.agent();
    return this.memory.session(await this.place(), agent_id, await this.terminal(agent_id));
  }

  /** Who works alone goes on at any terminal. */
  private async terminal(agent_id: string): Promise<string> {
    return agent_id === (await this.sole()) ? '' : terminalName(this.io);
  }

  async forgetSession(): Promise<void> {
    const agent_id = await this.agent();
    await this.memory.forgetSession(await this.place(), agent_id, await this.terminal(agent_id));
  }

  async genesis(): Promise<Genesis> {
    const { url, token } = await this.server();
    return this.genesisAt({ ...(await this.place()), url }, token);
  }

  async genesisAt(place: Place, token = this.named_token): Promise<Genesis> {
    // Loaded here alone: who works on a workspace's own files does not wait for it.
    const { Genesis } = await import('../client/index.js');
    return new Genesis({ ...place, ...(token === null ? {} : { token }), retry: PATIENCE });
  }

  /** For what belongs to the whole tenant. */
  async genesisOfTenant(): Promise<Genesis> {
    const { tenant, named_project } = this;
    const { url, token } = await this.server();
    return this.genesisAt({ url, tenant, project: named_project ?? 'default' }, token);
  }

  /** The token that was named; null: none was. */
  private get named_token(): string | null {
    return this.setting(undefined, 'GENESIS_TOKEN');
  }

  /**
   * Where the server answers, and with which token. Where none was named, that of the workspace does, which may be this
   * command itself. One with a token of its own gets that and no other.
   */
  async server(): Promise<ServerAddress> {
    const workspace = this.named_url === null ? Workspace.find(this.io.cwd) : null;
    if (workspace === null) return { url: this.url, token: this.named_token };
    this.here ??= import('./workspace/serve-here.js').then(({ serveHere }) =>
      serveHere((text) => this.remark(text), workspace),
    );
    const { url, token } = await this.here;
    return { url, token: token ?? this.named_token };
  }

  /** The command is done. */
  async close(): Promise<void> {
    await (await this.here?.catch(() => null))?.stop();
  }

  print(text: string): void {
    this.io.stdout.write(`${text}\n`);
  }

  printJson(value: unknown): void {
    this.print(JSON.stringify(value));
  }

  /** The wire's own JSON, or the same for a person. */
  show<T>(reply: T, forPeople: (reply: T) => string): void {
    if (this.is_json) this.printJson(reply);
    else this.print(forPeople(reply));
  }

  /** Beside the output: nothing that reads the output sees it. */
  remark(text: string): void {
    this.io.stderr.write(`${text}\n`);
  }

  private setting(given: string | undefined, variable: string): string | null {
    const value = given ?? this.io.env[variable];
    return value === undefined || value === '' ? null : value;
  }
}
