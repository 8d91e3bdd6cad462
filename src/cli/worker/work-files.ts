import { constants } from 'node:fs';
import { mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CheckReport, Work } from '../../client/index.js';
import { RESULT_BYTES_MAX } from '../../core/contract/values.js';
import { subjectKindOf } from '../../core/subject.js';
import type { CommandContext } from '../context.js';
import { parseCheckReports } from '../edge/evaluators.js';
import { WORKSPACE_VARIABLE } from './drafts.js';
import { PROCESS_GROUP_FILE_VARIABLE } from './process-group-file.js';
import { OUTBOX_SERVER_VARIABLE, targetEnvironment, type WorkTarget } from './work-target.js';

/** Maximum size of a file of check results. A submission has at most 64 KiB of them; white space may make the file larger. */
const CHECKS_BYTES_MAX = 1024 * 1024;

/** A temporary folder for one piece of work, with its briefing and the paths of its result and its checks. */
export class WorkFiles {
  private constructor(
    private readonly folder: string,
    private readonly resultFile: string,
    /** The result file's stamp before the program ran. A file with the same stamp is not a result of the program. */
    private readonly resultStampBefore: string,
  ) {}

  static async open(work: Work, resultFile: string | null): Promise<WorkFiles> {
    const folder = await mkdtemp(join(tmpdir(), 'gen-run-'));
    await writeFile(join(folder, 'briefing.json'), `${JSON.stringify(work.briefing)}\n`, { mode: 0o600 });
    const file = resultFile === null ? join(folder, 'result') : resolve(resultFile);
    return new WorkFiles(folder, file, await fileStamp(file));
  }

  private get checksFile(): string {
    return join(this.folder, 'checks.json');
  }

  /**
   * The environment of the program: that of this process without three internal variables, what `gen` needs to reach the same
   * project (`targetEnvironment`), the agent, the handle, and the paths of the briefing, the result, the checks of an edge and
   * the drafts.
   */
  environment(
    { io }: CommandContext,
    target: WorkTarget,
    { claim }: Work,
    draftFolder: string | null,
  ): NodeJS.ProcessEnv {
    const isEdge = subjectKindOf(claim.task_id) === 'edge';
    return {
      ...io.env,
      ...targetEnvironment(io, target),
      GENESIS_AGENT: claim.agent_id,
      GENESIS_SESSION: claim.session_id,
      GENESIS_TASK_ID: claim.task_id,
      GENESIS_GENERATION: String(claim.generation),
      GENESIS_CLAIM_ID: claim.id,
      GENESIS_BRIEFING: join(this.folder, 'briefing.json'),
      GENESIS_RESULT: this.resultFile,
      GENESIS_CHECKS: isEdge ? this.checksFile : undefined,
      GENESIS_DRAFTS: draftFolder ?? undefined,
      [WORKSPACE_VARIABLE]: undefined,
      [OUTBOX_SERVER_VARIABLE]: undefined,
      [PROCESS_GROUP_FILE_VARIABLE]: undefined,
    };
  }

  /** The result that the program wrote; null if it wrote none. */
  async readResult(): Promise<Uint8Array | null> {
    if ((await fileStamp(this.resultFile)) === this.resultStampBefore) return null;
    return readRegularFile(this.resultFile, 'the result', RESULT_BYTES_MAX);
  }

  /** The results of the edge's checks that the program wrote; undefined if it wrote none. */
  async readChecks(): Promise<CheckReport[] | undefined> {
    if ((await fileStamp(this.checksFile)) === '') return undefined;
    const bytes = await readRegularFile(this.checksFile, '$GENESIS_CHECKS', CHECKS_BYTES_MAX);
    return parseCheckReports(bytes.toString('utf8'));
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function readRegularFile(path: string, what: string, sizeMax: number): Promise<Buffer> {
  // Opening a pipe would wait for a writer, while the claim is renewed for ever.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error(`exit code 0, but ${path} is not a regular file`);
    if (stats.size > sizeMax)
      throw new Error(`exit code 0, but ${what} has ${stats.size} bytes; at most ${sizeMax}`);
    const bytes = Buffer.alloc(stats.size);
    const { bytesRead } = await file.read(bytes, 0, stats.size, 0);
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function fileStamp(file: string): Promise<string> {
  const stats = await stat(file, { bigint: true }).catch(() => null);
  return stats === null ? '' : `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
}
