import { Link } from 'wouter';
import { linkedText } from '../model/linked-text.js';
import { visibleText } from './untrusted-text.js';

export const taskPath = (id: string): string => `/task/${encodeURIComponent(id)}`;

export const TaskLink = ({ id }: { id: string }) => (
  <Link className="mono" href={taskPath(id)}>
    {id}
  </Link>
);

/** A text of the server in which tasks and edges are links. `own` is the task or edge that the page already shows. */
export const LinkedText = ({ text, own }: { text: string; own: string }) =>
  linkedText(text).map((part, index) =>
    'subject' in part && part.subject !== own ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other key
      <TaskLink key={index} id={part.subject} />
    ) : (
      visibleText('subject' in part ? part.subject : part.text)
    ),
  );
