import { randomInt } from 'node:crypto';
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { CheckLimits, WorkCopy } from './check-execution.js';
import { REPORT_BYTES_MAX, runCommandProcess } from './run-command.js';
import {
  processLimit,
  resourceLimits,
  sandboxArguments,
  sandboxBinds,
  sandboxEnvironment,
} from './sandbox-arguments.js';
import { syscallFilter } from './syscall-filter.js';

/**
 * The sandbox of untrusted commands: bubblewrap. A command has no network and no home folders, reads the system folders,
 * writes only to memory file systems of limited size, sees only its own processes and cannot create user namespaces.
 *
 * The kernel does not limit the processes of root. As root, an outer bubblewrap therefore makes the folders reachable
 * and changes to a user that nothing else uses. The sandbox itself is then the same as for other users.
 */
export interface Sandbox {
  readonly kind: 'bwrap';
  /** The program to start and its arguments, for a command on a copy of the project. */
  commandLine(run: SandboxRun): {
    readonly file: string;
    readonly args: readonly string[];
    readonly input: Uint8Array | null;
  };
}

export interface SandboxRun {
  readonly copy: Pick<WorkCopy, 'folder' | 'read_only_mounts'>;
  readonly argv: readonly string[];
  readonly limits: CheckLimits;
  /** Relative to the project. */
  readonly report: string | null;
}

interface NoSandbox {
  readonly kind: 'none';
  readonly says: string;
}

const LAUNCH_SCRIPT = readFileSync(new URL('./launch.sh', import.meta.url), 'utf8');
/** systemd's range for users that exist only while a service runs. */
const PRIVATE_UIDS = { from: 61_184, to: 65_519 };

/** Finds the sandbox's programs in `path`, and tries it once: user namespaces may be disabled. */
export async function findSandbox(path: string | undefined): Promise<Sandbox | NoSandbox> {
  if (process.platform !== 'linux')
    return { kind: 'none', says: `bubblewrap is for Linux only; this is ${process.platform}.` };
  const isRoot = process.getuid?.() === 0;
  const [bwrap, prlimit, sh] = ['bwrap', 'prlimit', 'sh'].map((name) => findProgram(name, path));
  const setpriv = isRoot ? findProgram('setpriv', path) : '';
  for (const [name, program] of Object.entries({ bwrap, prlimit, sh, setpriv }))
    if (typeof program !== 'string') return { kind: 'none', says: `The program \`${name}\` is not in PATH.` };
  const sandbox = new Bubblewrap({ bwrap, prlimit, sh, setpriv } as SandboxPrograms, isRoot);
  const failure = await trySandbox(sandbox);
  return failure === null ? sandbox : { kind: 'none', says: `bubblewrap cannot run here: ${failure}` };
}

export function findProgram(name: string, path: string | undefined): string | null {
  for (const folder of (path ?? '').split(delimiter).filter((entry) => entry.startsWith('/'))) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      if (statSync(file).isFile()) return file;
    } catch {
      // The program is not in this folder.
    }
  }
  return null;
}

const TRIAL_LIMITS: CheckLimits = {
  timeout_ms: 20_000,
  memory_bytes: 512 * 1024 ** 2,
  disk_bytes: 16 * 1024 ** 2,
  output_bytes: 16 * 1024,
  processes: 64,
};

/** The reason that a command that does nothing fails in the sandbox; null if the command succeeds. */
async function trySandbox(sandbox: Sandbox): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'genesis-check-'));
  try {
    // As root, the command runs as another user.
    await chmod(folder, 0o755);
    const run = {
      copy: { folder, read_only_mounts: [] },
      argv: ['true'],
      limits: TRIAL_LIMITS,
      report: null,
    };
    const { signal } = new AbortController();
    const command = { ...sandbox.commandLine(run), cwd: '/', env: sandboxEnvironment() };
    const end = await runCommandProcess({ ...command, limits: TRIAL_LIMITS, signal });
    if (end.exit_code === 0) return null;
    const output = Buffer.from(end.output).toString('utf8').trim().slice(-500);
    return end.spawn_error ?? (output || `exit code ${end.exit_code}, ${end.stopped ?? end.signal ?? ''}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface SandboxPrograms {
  readonly bwrap: string;
  readonly prlimit: string;
  readonly sh: string;
  /** Only for root. */
  readonly setpriv: string;
}

class Bubblewrap implements Sandbox {
  readonly kind = 'bwrap';

  constructor(
    private readonly programs: SandboxPrograms,
    private readonly isRoot: boolean,
  ) {}

  commandLine({ copy, argv, limits, report }: SandboxRun) {
    const { bwrap, prlimit, sh } = this.programs;
    const settings = [report ?? '', REPORT_BYTES_MAX + 1, limits.processes].map(String);
    const launch = [sh, '-c', LAUNCH_SCRIPT, 'launch', ...settings, ...argv];
    const command = [
      ...[prlimit, ...resourceLimits(limits), ...processLimit(limits, this.isRoot)],
      ...['--', ...launch],
    ];
    const binds = sandboxBinds(copy);
    const input = syscallFilter(process.arch);
    const filter = input === null ? [] : ['--seccomp', '4'];
    if (!this.isRoot)
      return { file: bwrap, args: [...sandboxArguments(binds, limits), ...filter, '--', ...command], input };
    const reachableBinds = binds.map((bind, index) => ({ ...bind, source: `/tmp/${index}` }));
    const bindArguments = binds.flatMap(({ source }, index) => ['--ro-bind', source, `/tmp/${index}`]);
    const inner = [bwrap, ...sandboxArguments(reachableBinds, limits), ...filter, '--', ...command];
    return {
      file: bwrap,
      args: [...OUTER_ARGUMENTS, ...bindArguments, '--', ...this.changeUser(), ...inner],
      input,
    };
  }

  private changeUser(): string[] {
    const uid = String(randomInt(PRIVATE_UIDS.from, PRIVATE_UIDS.to + 1));
    const change = ['--reuid', uid, '--regid', uid, '--clear-groups', '--no-new-privs', '--inh-caps=-all'];
    return [this.programs.setpriv, ...change, '--'];
  }
}

/**
 * The host as it is, except for an empty /tmp in which the folders are mounted. The processes of the other user get their
 * own process namespace: the outer bubblewrap may not signal them, but they end with the first process of a namespace.
 */
const OUTER_ARGUMENTS = [
  ...['--dev-bind', '/', '/', '--unshare-pid', '--die-with-parent'],
  ...['--perms', '0755', '--size', '65536', '--tmpfs', '/tmp'],
];
