import { constants } from 'node:fs';
import { cp, mkdir, mkdtemp, open, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import type { WorkCopy } from './check-execution.js';
import { type CommandEnd, REPORT_BYTES_MAX, runCommandProcess } from './run-command.js';
import { findProgram, type Sandbox, type SandboxRun } from './sandbox.js';
import { resourceLimits, sandboxEnvironment } from './sandbox-arguments.js';

/** Runs a command on a throw-away duplicate of the work copy, and reads the command's report. */
export interface CommandExecutor {
  readonly is_sandboxed: boolean;
  /** Rejects only if the signal is aborted. */
  execute(run: SandboxRun & { readonly signal: AbortSignal }): Promise<Execution>;
}

export interface Execution extends Omit<CommandEnd, 'channel'> {
  /** False if the sandbox or the copy could not be made, or no process started; the output or `spawn_error` says why. */
  readonly is_started: boolean;
  /** Whether the disk, or the number of processes, was at its limit when the command ended. */
  readonly is_disk_full: boolean;
  readonly is_process_limit_reached: boolean;
  /** Null if there is none. Cut to one byte more than the maximum: `parseReport` then refuses it as too large. */
  readonly report: Uint8Array | null;
}

/** Runs untrusted commands in the sandbox. */
export const sandboxExecutor = (sandbox: Sandbox): CommandExecutor => ({
  is_sandboxed: true,
  async execute(run) {
    const command = { ...sandbox.commandLine(run), cwd: '/', env: sandboxEnvironment() };
    const { channel, ...end } = await runCommandProcess({
      ...command,
      limits: run.limits,
      signal: run.signal,
    });
    return { ...end, ...parseChannel(channel) };
  },
});

/** Parses what `launch.sh` writes to file descriptor 3: lines about its progress, then the report after the line `report`. */
function parseChannel(channel: Buffer): Omit<Execution, keyof CommandEnd> {
  const lines = new Set<string>();
  let from = 0;
  for (let end = channel.indexOf('\n'); end !== -1 && lines.size < 8; end = channel.indexOf('\n', from)) {
    const line = channel.toString('latin1', from, end);
    from = end + 1;
    lines.add(line);
    if (line === 'report' || line === 'end') break;
  }
  const report = lines.has('report') ? channel.subarray(from) : null;
  return {
    is_started: lines.has('started'),
    is_disk_full: lines.has('full'),
    is_process_limit_reached: lines.has('crowded'),
    report,
  };
}

/**
 * Runs commands without a sandbox, in a process group with limits of time and output, and of memory and file size as far
 * as the system has `/proc` and `prlimit`. A command can read and write whatever the user can.
 */
export const unsandboxedExecutor = (path: string | undefined): CommandExecutor => ({
  is_sandboxed: false,
  async execute({ copy, argv, limits, report, signal }) {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'genesis-check-')));
    try {
      const projectFolder = await prepareFolder(folder, copy);
      if (report !== null) await removeReport(projectFolder, report);
      const temporaryFolder = join(folder, 'tmp');
      const env = {
        ...sandboxEnvironment(),
        PATH: path ?? '',
        HOME: temporaryFolder,
        TMPDIR: temporaryFolder,
      };
      const prlimit = findProgram('prlimit', path);
      const limitPrefix = prlimit === null ? [] : [prlimit, ...resourceLimits(limits), '--'];
      const [file = '', ...args] = [...limitPrefix, ...argv];
      const { channel: _, ...end } = await runCommandProcess({
        file,
        args,
        cwd: projectFolder,
        env,
        limits,
        signal,
      });
      const bytes = report === null ? null : await readReport(projectFolder, report);
      const state = {
        is_started: end.spawn_error === null,
        is_disk_full: false,
        is_process_limit_reached: false,
      };
      return { ...end, ...state, report: bytes };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
});

async function prepareFolder(
  folder: string,
  { folder: copy, read_only_mounts }: Pick<WorkCopy, 'folder' | 'read_only_mounts'>,
) {
  const projectFolder = join(folder, 'project');
  await mkdir(join(folder, 'tmp'));
  await cp(copy, projectFolder, { recursive: true, verbatimSymlinks: true });
  for (const { source, target } of read_only_mounts) {
    await mkdir(dirname(join(projectFolder, target)), { recursive: true });
    await symlink(source, join(projectFolder, target));
  }
  return projectFolder;
}

/** Removes a report that was there before, so that it is not taken for the report of this command. */
async function removeReport(projectFolder: string, report: string): Promise<void> {
  const parent = await realpath(dirname(join(projectFolder, report))).catch(() => null);
  if (parent !== null && isInside(projectFolder, parent))
    await rm(join(projectFolder, report), { recursive: true, force: true });
}

/** Reads the report. Null if there is no such file, or if a link leads to a file outside the folder. */
async function readReport(projectFolder: string, report: string): Promise<Uint8Array | null> {
  const path = await realpath(join(projectFolder, report)).catch(() => null);
  if (path === null || !isInside(projectFolder, path)) return null;
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => null,
  );
  if (file === null) return null;
  try {
    if (!(await file.stat()).isFile()) return null;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(REPORT_BYTES_MAX + 1));
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

const isInside = (folder: string, path: string): boolean => path === folder || path.startsWith(folder + sep);
