import { isProblem, type Problem } from '../client/replies.js';
import type { Context } from './context.js';
import { CommandFailure, exitFor } from './exit.js';
import { plainText } from './output/text.js';
import { remarked } from './output/wrap.js';

/** The reply, or the failure that the problem is. */
export function expected<T>(reply: T | Problem): T {
  if (isProblem(reply)) throw problemFailure(reply);
  return reply;
}

export const problemFailure = (found: Problem): CommandFailure =>
  new CommandFailure(problemText(found), exitFor(found.code), found);

/** What the server found wrong, with the place of each fault. */
export function problemText({ code, detail, faults = [] }: Problem): string {
  const named = faults.map(({ line, column, path, message }) => {
    const place = line === undefined ? path : `line ${line}${column === undefined ? '' : `:${column}`}`;
    return `  ${place}: ${plainText(message)}`;
  });
  const lines = faults.length > 1 ? named : [];
  return [`${code}: ${plainText(detail)}`, ...lines].join('\n');
}

interface Decided {
  readonly reason: string;
  readonly next?: string;
  readonly success?: boolean;
  readonly accepted?: boolean;
}

/** A decided reply: shown where it is a yes; where it is a no, what happened and what to do, with the exit code. */
export function decided<T extends Decided>(
  context: Context,
  reply: T,
  yes: (reply: T) => string,
  no = '',
): void {
  if (reply.success === true || reply.accepted === true) {
    context.show(reply, yes);
    return;
  }
  refuse(context, reply, no);
}

export function refuse(context: Context, reply: Decided, more: string, exit = exitFor(reply.reason)): void {
  const said = [`${reply.reason}${more === '' ? '.' : `: ${plainText(more)}`}`, reply.next];
  if (context.is_json) context.printJson(reply);
  context.remark(remarked(said.filter((part) => part !== undefined).join(' '), context.io));
  context.exit_code = exit;
}
