/** The options of `gen status`. */
export interface StatusOptions {
  readonly watch?: true;
  readonly feature?: string;
  readonly health?: true;
  readonly gantt?: true;
  readonly write?: true;
  readonly log?: string;
}
