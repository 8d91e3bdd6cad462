/** A file that can be closed while nothing uses it, and is opened again when needed. */
export interface ClosableFile {
  /** Closes the file unless it is in use. Returns whether it was closed. */
  closeIfIdle(): boolean;
}

const OPEN_FILES_MAX = 256;

/** Limits the files that a store keeps open, so that many projects do not use up the descriptors of the process. */
export class OpenFiles {
  /** The least recently used first. */
  private readonly files = new Set<ClosableFile>();

  constructor(private readonly max = OPEN_FILES_MAX) {}

  markUsed(file: ClosableFile): void {
    this.files.delete(file);
    this.files.add(file);
    for (const candidate of this.files) {
      if (this.files.size <= this.max) return;
      if (candidate.closeIfIdle()) this.files.delete(candidate);
    }
  }

  markClosed(file: ClosableFile): void {
    this.files.delete(file);
  }
}
