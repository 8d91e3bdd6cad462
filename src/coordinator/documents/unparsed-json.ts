/** A large JSON body that is not parsed yet, so that a thread can parse it off the event loop. */
export class UnparsedJson {
  /** The body's `request_id`, known once the text has been parsed. */
  request_id?: string;

  constructor(readonly text: string) {}
}
