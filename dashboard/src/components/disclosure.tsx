import { type ReactNode, useState } from 'react';

/** Content that is rendered, and read from the server, only when a person opens it. */
export function Disclosure({ title, children }: { title: ReactNode; children: () => ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="disclosure" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen ? children() : null}
    </details>
  );
}
