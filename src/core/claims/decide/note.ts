import type { Decision, DecisionContext, NoteCommand } from '../commands.js';
import type { Head } from '../head.js';
import { draftLooseEvent, holderActor, refuse } from './decision-builder.js';
import { handleFault } from './handle.js';

/** Decides a note: holder only. It moves no head, but the handle is checked like for every other command. */
export function decideNote(head: Head, command: NoteCommand, ctx: DecisionContext): Decision {
  const fault = handleFault(head, command.handle, ctx);
  if (fault !== null) return refuse(head, fault);
  const noteEvent = draftLooseEvent(head, 'noted', holderActor(head), { text: command.text }, ctx);
  return { ...refuse(head, 'NOTED', {}, [noteEvent]), ok: true };
}
