import { isUtf8 } from 'node:buffer';
import { resolve } from 'node:path';
import type { EdgeResult, EndedWork, Genesis, Work, WorkContext } from '../../client/index.js';
import { subjectKindOf } from '../../core/subject.js';
import { type GroupExit, type GroupOptions, runProcessGroup } from '../../engine/processes/process-group.js';
import { resolveProgram } from '../../engine/processes/resolve-program.js';
import { storeClaimHandle } from '../claim-output.js';
import type { CommandContext } from '../context.js';
import { jsonOrText } from '../json-or-text.js';
import { truncate } from '../output/text.js';
import { uploadBlob } from '../result.js';
import { type Drafts, manifestOfDrafts, openDrafts } from './drafts.js';
import { readGitMetadata, readGitPosition } from './git-metadata.js';
import {
  PROCESS_GROUP_FILE_VARIABLE,
  removeProcessGroupFile,
  writeProcessGroupFile,
} from './process-group-file.js';
import { isNotFoundByShell } from './runnable.js';
import { WorkFiles } from './work-files.js';
import type { WorkTarget } from './work-target.js';

const MESSAGE_CHARS_MAX = 1500;
const COMMAND_CHARS_SHOWN = 200;

/** What a worker needs to run each piece of work. */
export interface WorkerRun extends Pick<GroupOptions, 'command' | 'stopWith'> {
  readonly context: CommandContext;
  readonly target: WorkTarget;
  readonly genesis: Genesis;
  /** File that the program writes its result to; undefined: a temporary one. */
  readonly resultFile: string | undefined;
  /** Called if the program cannot be started: all later work would fail the same way. */
  readonly onNotRunnable: (why: string) => void;
  /** The claims whose results were made from drafts, by `generationKey`. */
  readonly draftClaims: Set<string>;
}

export const generationKey = ({ task_id, generation }: Pick<EndedWork, 'task_id' | 'generation'>): string =>
  `${task_id} ${generation}`;

/**
 * Runs the program. Returns its result; for an edge, the result and the check results. Throws if the program fails; the
 * message becomes the reason of the release.
 */
export async function runWork(run: WorkerRun, work: Work, workContext: WorkContext): Promise<unknown> {
  const { context, command } = run;
  const { io } = context;
  await storeClaimHandle(context, work.claim);
  const shownCommand = truncate(command.join(' '), COMMAND_CHARS_SHOWN);
  context.printNotice(`${work.task_id}, generation ${work.claim.generation}: ${shownCommand}`);
  const drafts = await openDrafts(io, work.claim);
  const resultFile = run.resultFile === undefined ? null : resolve(io.cwd, run.resultFile);
  const workFiles = await WorkFiles.open(work, resultFile);
  try {
    const ended = await runProgram(run, work, workContext, { workFiles, drafts });
    if (ended.exit_code !== 0) throw new Error(failureText(ended));
    if (subjectKindOf(work.task_id) !== 'edge')
      return await readResult(run, work, ended, { workFiles, drafts });
    const evaluators = await workFiles.readChecks();
    const result = await readResult(run, work, ended, { workFiles, drafts });
    return { result, evaluators } satisfies EdgeResult;
  } finally {
    await workFiles.remove();
  }
}

interface WorkFolders {
  readonly workFiles: WorkFiles;
  readonly drafts: Drafts | null;
}

/** Runs the program in the draft folder of an edge, otherwise in the current folder. */
async function runProgram(
  { context, target, command, stopWith, onNotRunnable }: WorkerRun,
  work: Work,
  { signal, stop, setMetadata }: WorkContext,
  { workFiles, drafts }: WorkFolders,
): Promise<GroupExit> {
  const { io } = context;
  const processGroupFile = io.env[PROCESS_GROUP_FILE_VARIABLE];
  const cwd = drafts?.folder ?? io.cwd;
  const gitAtClaim = await readGitPosition(cwd);
  const env = workFiles.environment(context, target, work, drafts?.folder ?? null);
  const { stderr } = io;
  const stdout = context.is_json ? stderr : io.stdout;
  const onStart = (group: number): void => {
    if (processGroupFile !== undefined) writeProcessGroupFile(processGroupFile, group);
  };
  const stopAsNotRunnable = (program: string, why: string): Error => {
    const message = `${program} cannot be run (${why})`;
    onNotRunnable(message);
    stop();
    return new Error(message);
  };
  const groupOptions = {
    command: resolveProgram(command, io.cwd),
    env,
    cwd,
    stdout,
    stderr,
    signal,
    stopWith,
    onStart,
  };
  try {
    const ended = await runProcessGroup(groupOptions).catch((error: NodeJS.ErrnoException) => {
      throw stopAsNotRunnable(command[0] ?? '', error.code ?? error.message);
    });
    if (isNotFoundByShell(command, ended.exit_code))
      throw stopAsNotRunnable(truncate(command.join(' '), COMMAND_CHARS_SHOWN), failureText(ended));
    const git = ended.exit_code === 0 ? await readGitMetadata(cwd, gitAtClaim) : null;
    if (git !== null) setMetadata({ git });
    return ended;
  } finally {
    if (processGroupFile !== undefined) await removeProcessGroupFile(processGroupFile);
  }
}

/**
 * The result: the file that the program wrote, otherwise its drafts, otherwise its exit code and the end of its output. Throws
 * if the program did not write the file of `--result`.
 */
async function readResult(
  { genesis, resultFile, draftClaims }: WorkerRun,
  { claim }: Work,
  ended: GroupExit,
  { workFiles, drafts }: WorkFolders,
): Promise<unknown> {
  const bytes = await workFiles.readResult();
  if (bytes !== null) return resultData(genesis, bytes);
  if (resultFile !== undefined) throw new Error(`exit code 0, but the program did not write ${resultFile}`);
  if (drafts === null) return ended;
  draftClaims.add(generationKey(claim));
  return manifestOfDrafts(drafts, genesis, claim);
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
