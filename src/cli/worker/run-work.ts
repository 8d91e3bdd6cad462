import { isUtf8 } from 'node:buffer';
import { resolve } from 'node:path';
import type { EdgeResult, EndedWork, Genesis, Work, WorkContext } from '../../client/index.js';
import { subjectKindOf } from '../../core/subject.js';
import { rememberClaim } from '../claim-output.js';
import type { CommandContext } from '../context.js';
import { jsonOrText } from '../json-or-text.js';
import { truncate } from '../output/text.js';
import { uploadBlob } from '../result.js';
import { collectDrafts, type Drafts, openDrafts } from './drafts.js';
import { readGitMetadata, readGitPosition } from './git-metadata.js';
import { type GroupExit, type GroupOptions, runProcessGroup } from './process-group.js';
import { PROGRAM_FILE_VARIABLE, removeProgramFile, writeProgramFile } from './program-file.js';
import { Workdir, type WorkTarget } from './workdir.js';

const MESSAGE_CHARS_MAX = 1500;
const COMMAND_CHARS_SHOWN = 200;

/** What a worker runs each piece of work with. */
export interface WorkerRun extends Pick<GroupOptions, 'command' | 'stopWith'> {
  readonly context: CommandContext;
  readonly target: WorkTarget;
  readonly genesis: Genesis;
  /** File that the program writes its result to; undefined: a temporary one. */
  readonly resultFile: string | undefined;
  /** The claims whose results were made from drafts, by `generationKey`. */
  readonly draftClaims: Set<string>;
}

export const generationKey = ({ task_id, generation }: Pick<EndedWork, 'task_id' | 'generation'>): string =>
  `${task_id} ${generation}`;

/** Runs the program. Returns its result, for an edge with its checks, or throws the reason with which the work is released. */
export async function runWork(run: WorkerRun, work: Work, workContext: WorkContext): Promise<unknown> {
  const { context, command } = run;
  const { io } = context;
  await rememberClaim(context, work.claim);
  const shownCommand = truncate(command.join(' '), COMMAND_CHARS_SHOWN);
  context.printNotice(`${work.task_id}, generation ${work.claim.generation}: ${shownCommand}`);
  const drafts = await openDrafts(io, work.claim);
  const resultFile = run.resultFile === undefined ? null : resolve(io.cwd, run.resultFile);
  const workdir = await Workdir.open(work, resultFile);
  try {
    const ended = await runProgram(run, work, workContext, { workdir, drafts });
    if (ended.exit_code !== 0) throw new Error(failureText(ended));
    if (subjectKindOf(work.task_id) !== 'edge')
      return await readResult(run, work, ended, { workdir, drafts });
    const evaluators = await workdir.readChecks();
    const result = await readResult(run, work, ended, { workdir, drafts });
    return { result, evaluators } satisfies EdgeResult;
  } finally {
    await workdir.remove();
  }
}

interface WorkFolders {
  readonly workdir: Workdir;
  readonly drafts: Drafts | null;
}

/** Runs the program in the draft folder of an edge, otherwise in the current folder. */
async function runProgram(
  { context, target, command, stopWith }: WorkerRun,
  work: Work,
  { signal, stop, setMetadata }: WorkContext,
  { workdir, drafts }: WorkFolders,
): Promise<GroupExit> {
  const { io } = context;
  const programFile = io.env[PROGRAM_FILE_VARIABLE];
  const cwd = drafts?.folder ?? io.cwd;
  const gitAtClaim = await readGitPosition(cwd);
  const env = workdir.environment(context, target, work, drafts?.folder ?? null);
  const { stderr } = io;
  const stdout = context.is_json ? stderr : io.stdout;
  const onStart = (group: number): void => {
    if (programFile !== undefined) writeProgramFile(programFile, group);
  };
  const group = {
    command: resolvedCommand(command, io.cwd),
    env,
    cwd,
    stdout,
    stderr,
    signal,
    stopWith,
    onStart,
  };
  try {
    const ended = await runProcessGroup(group).catch((error: NodeJS.ErrnoException) => {
      // All later work would fail the same way.
      stop();
      throw new Error(`${command[0]} cannot be run (${error.code ?? error.message})`);
    });
    const git = ended.exit_code === 0 ? await readGitMetadata(cwd, gitAtClaim) : null;
    if (git !== null) setMetadata({ git });
    return ended;
  } finally {
    if (programFile !== undefined) await removeProgramFile(programFile);
  }
}

/** A relative path means a file of the current folder, also for a program that starts in a draft folder. */
function resolvedCommand([program = '', ...args]: readonly string[], folder: string): readonly string[] {
  return [program.includes('/') ? resolve(folder, program) : program, ...args];
}

/** The file that the program wrote; otherwise its drafts, or its exit code and the end of its output. */
async function readResult(
  { genesis, resultFile, draftClaims }: WorkerRun,
  { claim }: Work,
  ended: GroupExit,
  { workdir, drafts }: WorkFolders,
): Promise<unknown> {
  const bytes = await workdir.readResult();
  if (bytes !== null) return resultData(genesis, bytes);
  if (resultFile !== undefined) throw new Error(`exit code 0, but the program did not write ${resultFile}`);
  if (drafts === null) return ended;
  draftClaims.add(generationKey(claim));
  return collectDrafts(drafts, genesis, claim);
}

function failureText({ exit_code, stderr, stdout }: GroupExit): string {
  const outputTail = (stderr.trim() || stdout.trim()).slice(-MESSAGE_CHARS_MAX);
  return `exit code ${exit_code}${outputTail === '' ? '' : `: ${outputTail}`}`;
}

/** JSON or text inline; other bytes as a blob that the result refers to. */
async function resultData(genesis: Genesis, bytes: Uint8Array): Promise<unknown> {
  if (isUtf8(bytes)) return jsonOrText(Buffer.from(bytes).toString('utf8'));
  return { ...(await uploadBlob(genesis, bytes)), size_bytes: bytes.byteLength };
}
