import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { AuditSink } from '../../coordinator/audit/sink.js';
import { anchorText } from '../../core/audit/checkpoint.js';

const run = promisify(execFile);
const NOTES_REF = 'genesis-fleet-audit';
const GIT_MS_MAX = 10_000;

/** Appends checkpoints to a git note of the commit that is checked out. Does not push: the operator pushes the notes. */
export function gitSink(repository: string): Pick<AuditSink, 'name' | 'send'> {
  return {
    name: `git:${repository}`,
    async send(anchors) {
      const message = anchors.map(anchorText).join('\n');
      const note = ['notes', `--ref=${NOTES_REF}`, 'append', '-m', message, 'HEAD'];
      await run('git', ['-C', repository, ...note], { timeout: GIT_MS_MAX });
    },
  };
}
