import type { Context, Decision, NoteCommand } from '../commands.js';
import type { Head } from '../head.js';
import { handleFault } from './handle.js';
import { holder, note, refuse } from './tell.js';

/** Only the holder speaks for the work. A remark moves no head, but it is fenced like everything else. */
export function decideNote(head: Head, command: NoteCommand, ctx: Context): Decision {
  const fault = handleFault(head, command.handle, ctx);
  if (fault !== null) return refuse(head, fault);
  const noted = note(head, 'noted', holder(head), { text: command.text }, ctx);
  return { ...refuse(head, 'NOTED', {}, [noted]), ok: true };
}
