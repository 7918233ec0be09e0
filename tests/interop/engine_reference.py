"""GSPO and Dimuon in torch, from their public definitions; gradients come from autograd.

GSPO-token is Zheng et al. 2025 (arXiv 2507.18071), equations 13 and 14, summed over tokens
as the service's documentation does. Of Dimuon the service's documentation gives the running
average, the global clipping and the Frobenius norm of a step; the iterations are those of
Muon (kellerjordan.github.io/posts/muon). Everything that only our engine decides is in
docs/internals/engine.md.
"""
import torch

MUON = (3.4445, -4.7750, 2.0315)
MUON_STEPS = 5


def gspo_loss(logprobs, sampled, advantages, mask, low, high):
    """Of one sequence; `low` and `high` bound the ratio itself."""
    sequence = torch.exp((logprobs - sampled)[mask != 0].mean()).detach()
    ratio = sequence * torch.exp(logprobs - logprobs.detach())
    return -torch.min(ratio * advantages, ratio.clamp(low, high) * advantages).sum()


def matrix_sign(m):
    """Newton-Schulz in double on the matrix as it is, tall or wide."""
    a, b, c = MUON
    x = m.double() / m.double().norm()
    for _ in range(MUON_STEPS):
        x = a * x + b * (x @ x.T @ x) + c * (x @ x.T @ x @ x.T @ x)
    return x


class Dimuon(torch.optim.Optimizer):
    """For LoRA matrices of one rank."""

    def __init__(self, parameters, rank, learning_rate, beta1, grad_clip_norm):
        super().__init__(parameters, {})
        self.rank, self.rate, self.beta1, self.clip = rank, learning_rate, beta1, grad_clip_norm

    @torch.no_grad()
    def step(self):
        parameters = self.param_groups[0]["params"]
        if self.clip > 0:
            torch.nn.utils.clip_grad_norm_(parameters, self.clip)
        for p in parameters:
            average = self.state[p].setdefault("average", torch.zeros_like(p))
            average.mul_(self.beta1).add_(p.grad, alpha=1 - self.beta1)
            if average.any():
                direction = matrix_sign(average)
                p.sub_((self.rate * self.rank ** 0.5 / direction.norm() * direction).float())


def muon_gap(m):
    """How far matrix_sign is from one step of torch.optim.Muon, which computes in bfloat16."""
    p = torch.nn.Parameter(torch.zeros_like(m))
    p.grad = m.clone()
    torch.optim.Muon([p], lr=1.0, weight_decay=0.0, momentum=0.0, nesterov=False).step()
    theirs, ours = -p.detach().double(), matrix_sign(m)
    return (theirs / theirs.norm() - ours / ours.norm()).norm().item()
