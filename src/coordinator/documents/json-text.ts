/** A large body that is still JSON text: whoever needs its value has it read in a thread, off the event loop. */
export class JsonText {
  /** What the text says of its own request, once it was read. */
  request_id?: string;

  constructor(readonly text: string) {}
}
